// The playground: a worked example's numbers, profile and readings can be changed; the model in
// the browser answers at once, by a second profile too, and the address holds all of it. Any case
// of shedding, or a world, can go on cycle by cycle: see playground-loop.js.
(() => {
  const root = document.getElementById("pc-playground")
  if (!root) return
  const part = (name) => root.querySelector(`[data-part=${name}]`)
  const [example, profile, beside, numbers, readings, text, answer, steps, other, state, progress] = [
    "example", "profile", "beside", "numbers", "readings", "case", "answer", "steps", "other", "state",
    "progress",
  ].map(part)
  const FIRST = "overload-95-over-85"

  if (location.protocol === "file:") {
    state.textContent =
      "The playground needs a web server: run “python3 -m http.server” in the folder of this site."
    root.dataset.idle = ""
    return
  }

  const worker = new Worker(new URL("assets/playground-worker.js", document.baseURI), { type: "module" })
  const waiting = new Map()
  let count = 0
  worker.onmessage = ({ data: { id, said, share } }) => {
    if (share !== undefined) {
      progress.value = share
      state.textContent = `Loading Python and the model… ${Math.round(100 * share)} %`
      return
    }
    waiting.get(id)(said)
    waiting.delete(id)
  }
  const ask = (call, given) =>
    new Promise((done) => {
      waiting.set((count += 1), done)
      worker.postMessage({ id: count, call, given })
    })

  let known
  let lab
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

  // A usage ends at its limit; any other number can be doubled.
  const greatest = (found, path, value) => {
    const owner = path.slice(0, -1).reduce((inner, key) => inner[key], found.case)
    if (path.at(-1) === "usage" && owner.limit > 0) return owner.limit
    return value > 0 ? 2 * value : 1
  }

  const MOST = 60
  const showNumbers = (found) => {
    numbers.replaceChildren()
    for (const [path, value] of [...leaves(found.case)].slice(0, MOST)) {
      const label = document.createElement("label")
      const [input, bar] = ["number", "range"].map((type) =>
        Object.assign(document.createElement("input"), { type, step: "any" }),
      )
      Object.assign(bar, { min: 0, max: greatest(found, path, value), step: value % 1 ? "any" : 1 })
      bar.setAttribute("aria-label", `${path.join(" ")}, as a bar`)
      input.value = bar.value = value
      const change = (from, to) => () => {
        if (from.value === "") return
        to.value = from.value
        const changed = JSON.parse(text.value)
        put(changed.case, path, Number(from.value))
        text.value = JSON.stringify(changed, null, 1)
        work()
      }
      input.addEventListener("input", change(input, bar))
      bar.addEventListener("input", change(bar, input))
      label.append(path.join(" › "), input, bar)
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
    const asked = { ...found, profile: profile.value, readings: chosenReadings(), ...lab.kept() }
    const said = await ask("answer", JSON.stringify(asked))
    const second = beside.value && { ...found, profile: beside.value, readings: {} }
    const told = second && (await ask("answer", JSON.stringify(second)))
    if (mine !== turn) return
    other.hidden = !told
    if (told) {
      const same = JSON.stringify(told.answer) === JSON.stringify(said.answer)
      other.querySelector("h2").textContent = `${beside.value}${same ? ": the same" : ": otherwise"}`
      other.querySelector("pre").textContent = told.wrong || [JSON.stringify(told.answer, null, 1), ...told.steps].join("\n")
      if (beside.value) asked.beside = beside.value
    }
    state.textContent = said.wrong || "Answered by the model."
    answer.textContent = said.wrong ? "" : JSON.stringify(said.answer, null, 1)
    steps.textContent = said.wrong ? "" : said.steps.join("\n")
    const kept = new TextEncoder().encode(JSON.stringify(asked))
    history.replaceState(null, "", `#${btoa(String.fromCharCode(...kept))}`)
    lab.follow(asked, [...new Set([profile.value, beside.value])].filter(Boolean))
  }

  const open = (asked) => {
    profile.value = asked.profile
    beside.value = asked.beside || ""
    text.value = JSON.stringify({ ask: asked.ask, case: asked.case }, null, 1)
    lab.open(asked)
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
    progress.hidden = false
    const file = new URL("assets/vendor/playground.json", document.baseURI)
    ;[examples, known] = await Promise.all([fetch(file).then((one) => one.json()), ask("available_choices")])
    progress.hidden = true
    if (known.wrong) {
      state.textContent = known.wrong
      return
    }
    const { laboratory } = await import(new URL("assets/playground-loop.js", document.baseURI))
    lab = laboratory(root, known, ask, work)
    profile.append(...known.profiles.map((one) => option(one)))
    beside.append(option("", "none"), ...known.profiles.map((one) => option(one)))
    beside.addEventListener("change", work)
    example.append(...examples.map((one) => option(one.id, `${one.id}: ${one.title}`)))
    example.addEventListener("change", () => open(examples.find((one) => one.id === example.value)))
    profile.addEventListener("change", () => {
      showReadings()
      lab.offer(profile.value)
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
    const kept = named || (location.hash ? fromAddress() : null) || examples.find((one) => one.id === FIRST)
    if (kept.id) example.value = kept.id
    open(kept)
  }
  start()
})()
