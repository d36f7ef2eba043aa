// The playground: a worked example's numbers, profile and readings can be changed; the model in
// the browser answers at once, and the address holds the case.
(() => {
  const root = document.getElementById("pc-playground")
  if (!root) return
  const part = (name) => root.querySelector(`[data-part=${name}]`)
  const [example, profile, numbers, readings, text, answer, steps, state] = [
    "example", "profile", "numbers", "readings", "case", "answer", "steps", "state",
  ].map(part)

  if (location.protocol === "file:") {
    state.textContent =
      "The playground needs a web server: run “python -m http.server” in the folder of this site."
    root.dataset.idle = ""
    return
  }

  const worker = new Worker(new URL("assets/playground-worker.js", document.baseURI), { type: "module" })
  const waiting = new Map()
  let count = 0
  worker.onmessage = ({ data: { id, said } }) => {
    waiting.get(id)(said)
    waiting.delete(id)
  }
  const ask = (call, given) =>
    new Promise((done) => {
      waiting.set((count += 1), done)
      worker.postMessage({ id: count, call, given })
    })

  let known
  let examples = []
  const option = (value, said = value) => new Option(said, value)

  // Every number of a case with its path, and how it is put back.
  function* leaves(value, path = []) {
    if (typeof value === "number") yield [path, value]
    else if (value && typeof value === "object")
      for (const key of Object.keys(value)) yield* leaves(value[key], [...path, key])
  }
  const put = (value, path, number) => {
    const [last, ...rest] = [...path].reverse()
    rest.reverse().reduce((inner, key) => inner[key], value)[last] = number
  }

  const MOST = 60
  const showNumbers = (found) => {
    numbers.replaceChildren()
    for (const [path, value] of [...leaves(found.case)].slice(0, MOST)) {
      const label = document.createElement("label")
      const input = document.createElement("input")
      Object.assign(input, { type: "number", step: "any", value })
      input.addEventListener("input", () => {
        if (input.value === "") return
        const changed = JSON.parse(text.value)
        put(changed.case, path, Number(input.value))
        text.value = JSON.stringify(changed, null, 1)
        work()
      })
      label.append(path.join(" › "), input)
      numbers.append(label)
    }
  }

  const showReadings = (chosen = {}) => {
    readings.replaceChildren()
    const own = known.own[profile.value]
    for (const [name, { question, values }] of Object.entries(known.readings)) {
      const label = document.createElement("label")
      const select = document.createElement("select")
      select.name = name
      for (const [value, means] of Object.entries(values)) select.append(option(value, `${value}: ${means}`))
      select.value = chosen[name] || own[name]
      select.addEventListener("change", work)
      label.append(question, select)
      readings.append(label)
    }
  }
  const chosenReadings = () => {
    const own = known.own[profile.value]
    const all = [...readings.querySelectorAll("select")].map((one) => [one.name, one.value])
    return Object.fromEntries(all.filter(([name, value]) => value !== own[name]))
  }

  let turn = 0
  const work = async () => {
    const mine = (turn += 1)
    let found
    try {
      found = JSON.parse(text.value)
    } catch (wrong) {
      state.textContent = `This is no JSON: ${wrong.message}`
      return
    }
    const asked = { ...found, profile: profile.value, readings: chosenReadings() }
    const said = await ask("answer", JSON.stringify(asked))
    if (mine !== turn) return
    state.textContent = said.wrong || "Answered by the model."
    answer.textContent = said.wrong ? "" : JSON.stringify(said.answer, null, 1)
    steps.textContent = said.wrong ? "" : said.steps.join("\n")
    const kept = new TextEncoder().encode(JSON.stringify(asked))
    history.replaceState(null, "", `#${btoa(String.fromCharCode(...kept))}`)
  }

  const open = (asked) => {
    profile.value = asked.profile
    text.value = JSON.stringify({ ask: asked.ask, case: asked.case }, null, 1)
    showReadings(asked.readings)
    showNumbers(asked)
    work()
  }
  const fromAddress = () => {
    try {
      const kept = Uint8Array.from(atob(location.hash.slice(1)), (one) => one.charCodeAt(0))
      return JSON.parse(new TextDecoder().decode(kept))
    } catch {
      return null
    }
  }

  const start = async () => {
    state.textContent = "Loading Python and the model…"
    const file = new URL("assets/vendor/playground.json", document.baseURI)
    ;[examples, known] = await Promise.all([fetch(file).then((one) => one.json()), ask("known")])
    if (known.wrong) {
      state.textContent = known.wrong
      return
    }
    profile.append(...known.profiles.map((one) => option(one)))
    example.append(...examples.map((one) => option(one.id, `${one.id}: ${one.title}`)))
    example.addEventListener("change", () => open(examples.find((one) => one.id === example.value)))
    profile.addEventListener("change", () => {
      showReadings()
      work()
    })
    text.addEventListener("input", () => {
      try {
        showNumbers(JSON.parse(text.value))
      } catch {
        /* it is being typed */
      }
      work()
    })
    const named = examples.find((one) => location.hash === `#${one.id}`)
    const kept = named || (location.hash ? fromAddress() : null) || examples[0]
    if (kept.id) example.value = kept.id
    open(kept)
  }
  start()
})()
