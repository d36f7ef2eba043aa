// The loop of `simulate` in the playground: a case or a world goes on, cycle by cycle, as each
// profile decides; usages are drawn as lines, and every move can be read.

const SVG = "http://www.w3.org/2000/svg"
const HEIGHT = 240
const EDGE = { left: 40, right: 90, top: 8, bottom: 26 }
const MOST_MOVES = 300
const APART = 13

const drawn = (name, attributes, text) => {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  if (text !== undefined) made.textContent = text
  return made
}
const element = (name, given = {}, ...inner) => {
  const made = Object.assign(document.createElement(name), given)
  made.append(...inner)
  return made
}
const percent = (value) => `${Math.round(10 * value) / 10} %`

// Names of brokers in order of their first appearance.
const brokersOf = (cycles) => [...new Set(cycles.flatMap((one) => Object.keys(one.usage)))]

const line = (points, attributes) => {
  // A broker that is down has no usage: its line is interrupted.
  let path = ""
  points.forEach((point, place) => {
    if (point) path += `${points[place - 1] ? "L" : "M"}${point[0].toFixed(1)},${point[1].toFixed(1)}`
  })
  return drawn("path", { d: path, fill: "none", ...attributes })
}

const chart = (cycles, length, width, title) => {
  const names = brokersOf(cycles)
  const across = (number) => EDGE.left + ((width - EDGE.left - EDGE.right) * number) / Math.max(length - 1, 1)
  const down = (used) => EDGE.top + (HEIGHT - EDGE.top - EDGE.bottom) * (1 - used / 100)
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "pc-picture pc-course", role: "img" })
  const last = cycles.at(-1)
  const ends = names.map((name) => `${name} ${percent(cycles[0].usage[name] ?? 0)} to ${percent(last.usage[name] ?? 0)}`)
  picture.setAttribute("aria-label", `${title}: usage of each broker over ${cycles.length} cycles; ${ends.join(", ")}`)
  for (const used of [0, 50, 100]) {
    picture.append(
      drawn("line", { class: "pc-tick", x1: EDGE.left, x2: width - EDGE.right, y1: down(used), y2: down(used) }),
      drawn("text", { x: EDGE.left - 6, y: down(used) + 4, "text-anchor": "end" }, `${used} %`),
    )
  }
  for (const number of [0, length - 1])
    picture.append(drawn("text", { x: across(number), y: HEIGHT - 8, "text-anchor": "middle" }, `cycle ${number}`))
  const limits = cycles.map((one) => one.limit !== null && one.limit <= 100 && [across(one.number), down(one.limit)])
  picture.append(line(limits, { class: "pc-limit" }))
  const labels = []
  names.forEach((name, place) => {
    const hue = `--pc-hue: ${Math.round((360 * place) / names.length + 175) % 360}`
    const points = cycles.map((one) => name in one.usage && [across(one.number), down(one.usage[name])])
    picture.append(line(points, { class: "pc-usage", style: hue, "data-broker": name }))
    for (const one of cycles.filter((each) => each.moves.some((move) => move[1] === name)))
      picture.append(drawn("circle", { class: "pc-shed", style: hue, cx: across(one.number), cy: down(one.usage[name] ?? 0), r: 3.5 }))
    const end = points.findLast(Boolean)
    if (end) labels.push([end[1], end[0], name, hue])
  })
  labels.sort((one, other) => one[0] - other[0])
  let lowest = 0
  for (const [top, left, name, hue] of labels) {
    lowest = Math.max(top, lowest + APART)
    picture.append(drawn("text", { x: left + 8, y: lowest + 4, class: "pc-end", style: hue }, name))
  }
  const now = drawn("line", { class: "pc-now", y1: EDGE.top, y2: HEIGHT - EDGE.bottom })
  picture.append(now)
  const mark = (number) => ["x1", "x2"].forEach((end) => now.setAttribute(end, across(number)))
  return { picture, mark }
}

const moveLine = ([bundle, source, target, why]) =>
  `  ${bundle}: ${source ?? "no broker"} → ${target ?? "no broker"}${why === "shed" ? "" : ` (${why})`}`

const cycleLines = (cycle) => {
  const used = Object.entries(cycle.usage).map(([name, value]) => `${name} ${percent(value)}`)
  const limit = cycle.limit === null ? "" : `, limit ${percent(cycle.limit)}`
  const splits = Object.keys(cycle.splits).map((bundle) => `  ${bundle} is split`)
  return [
    `cycle ${cycle.number}: ${used.join(", ")}; average ${percent(cycle.average)}${limit}`,
    ...splits,
    ...cycle.moves.map(moveLine),
  ]
}

// The figures of a course, each explained where it is pointed at and below.
const figures = (table, legend) => {
  const cells = (kind, texts) => element("tr", {}, ...texts.map((textContent) => element(kind, { textContent })))
  const made = element("table", {}, element("thead", {}, cells("th", Object.keys(table))))
  made.append(element("tbody", {}, cells("td", Object.values(table))))
  return element("div", { className: "pc-figures" }, made, element("p", { className: "pc-legend", textContent: legend }))
}

// One profile's course: the chart, a cycle to look at, the figures, and every move.
const course = (profile, cycles, length, { table, faults, random, legend }, width) => {
  const moved = cycles.filter((one) => one.moves.length || Object.keys(one.splits).length)
  const { picture, mark } = chart(cycles, length, width, profile)
  const slider = element("input", { type: "range", min: 0, max: cycles.length - 1 })
  slider.value = moved.length ? moved[0].number : 0
  slider.setAttribute("aria-label", `Cycle of ${profile}`)
  const shown = element("pre", { tabIndex: 0, className: "pc-cycle" })
  const show = () => {
    mark(Number(slider.value))
    shown.textContent = cycleLines(cycles[slider.value]).join("\n")
  }
  slider.addEventListener("input", show)
  show()
  const moves = moved.flatMap(cycleLines)
  const more = moves.length > MOST_MOVES ? [`… ${moves.length - MOST_MOVES} more lines`] : []
  const caption = "Usage of each broker; a dot where it gives up bundles; dashed: the limit from which on it sheds."
  const made = element(
    "div",
    { className: "pc-of-profile" },
    element("h3", { textContent: profile }),
    element("figure", {}, picture, element("figcaption", { textContent: caption })),
    slider,
    shown,
  )
  made.dataset.profile = profile
  if (table) {
    const every = element("pre", { tabIndex: 0, textContent: [...moves.slice(0, MOST_MOVES), ...more].join("\n") })
    every.dataset.part = "moves"
    made.append(
      figures(table, legend),
      ...(random ? [element("p", { textContent: random })] : []),
      ...faults.map((text) => element("p", { className: "pc-fault", textContent: text })),
      element(
        "details",
        { open: moved.length > 0 && moved.length < 10 },
        element("summary", { textContent: `Cycles with moves: ${moved.length} of ${cycles.length}` }),
        every,
      ),
    )
  }
  return made
}

// What the same simulation is called outside of this page.
const command = ({ world, strategy, placing, cycles, settings }, profile) => {
  if (!world) return ""
  const given = settings.split("\n").map((one) => one.trim()).filter(Boolean)
  const place = placing === "itself" ? "" : ` --place ${placing}`
  const words = given.map((one) => ` --setting '${one}'`).join("")
  return `pulsar-conformance simulate --world ${world} --profile ${profile} --strategy ${strategy}${place} --cycles ${cycles}${words}`
}

export const laboratory = (root, known, ask, changed) => {
  const part = (name) => root.querySelector(`[data-part=${name}]`)
  const [world, strategy, placing, cycles, settings, begin, state, courses, same] = [
    "world", "strategy", "placing", "cycles", "settings", "simulate", "loop-state", "courses", "command",
  ].map(part)
  const option = (value, text = value) => new Option(text, value)
  world.append(option("", "the case above"), ...Object.entries(known.worlds).map(([name, title]) => option(name, `${name}: ${title}`)))
  placing.append(...Object.entries(known.placing).map(([name, text]) => option(name, text)))
  let active = false
  let turn = 0

  const offer = (profile, wanted) => {
    const names = known.strategies[profile]
    strategy.replaceChildren(...names.map((one) => option(one)))
    strategy.value = names.includes(wanted) ? wanted : "ThresholdShedder"
  }
  const chosen = () => ({
    world: world.value,
    strategy: strategy.value,
    placing: placing.value,
    cycles: Number(cycles.value),
    settings: settings.value,
  })

  const simulate = async (asked, profiles) => {
    const mine = (turn += 1)
    const asks = chosen()
    const places = profiles.map(() => element("div"))
    for (const [number, profile] of profiles.entries()) {
      const done = []
      let said
      do {
        const own = profile === asked.profile ? asked.readings : {}
        const given = { ...asked, profile, readings: own, loop: asks, first: done.length }
        said = await ask("simulate", JSON.stringify(given))
        if (mine !== turn) return
        if (said.wrong) {
          courses.replaceChildren()
          same.textContent = ""
          state.textContent = said.wrong
          return
        }
        done.push(...said.cycles)
        if (number === 0 && done.length === said.cycles.length) courses.replaceChildren(...places)
        state.textContent = `Simulating by ${profile}: cycle ${done.length} of ${asks.cycles}`
        const width = Math.max(300, courses.clientWidth)
        places[number].replaceChildren(course(profile, done, asks.cycles, said, width))
      } while (!said.table)
    }
    state.textContent = "Simulated by the model."
    same.textContent = command(asks, asked.profile)
  }

  for (const one of [world, strategy, placing, cycles, settings])
    one.addEventListener("change", () => active && changed())
  begin.addEventListener("click", () => {
    active = true
    changed()
  })

  return {
    // The loop in the address opens as it was.
    open: (asked) => {
      active = Boolean(asked.loop)
      turn += 1
      courses.replaceChildren()
      state.textContent = same.textContent = ""
      offer(asked.profile, asked.loop?.strategy ?? asked.case?.strategy)
      world.value = asked.loop?.world ?? (asked.ask === "shed.select" ? "" : "ninety-ten")
      placing.value = asked.loop?.placing ?? "itself"
      cycles.value = asked.loop?.cycles ?? 60
      settings.value = asked.loop?.settings ?? ""
    },
    offer: (profile) => offer(profile, strategy.value),
    kept: () => (active ? { loop: chosen() } : {}),
    follow: (asked, profiles) => active && simulate(asked, profiles),
  }
}
