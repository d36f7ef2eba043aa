// Narrows the matrix to rows and columns; what is chosen is kept in the address.
(() => {
  const form = document.getElementById("pc-filters")
  const table = document.getElementById("pc-matrix")
  if (!form || !table) return
  const count = document.getElementById("pc-count")
  const rows = [...table.tBodies[0].rows]
  const headings = [...table.tHead.rows[0].cells].slice(1)
  const totals = [...table.tFoot.rows[0].cells].slice(1)
  const boxes = [...form.querySelectorAll("input[name=column]")]
  const broken = new Set(["fail", "warning", "known_deviation"])

  // Rows name profiles by their places in the list, since names are a third of the page.
  const placeOf = (profile) =>
    String([...form.elements.profile.options].findIndex((one) => one.value === profile))

  const verdicts = (row, columns) => columns.map((place) => row.cells[place + 1].dataset.verdict)

  const shows = (row, columns, { area, verdict, profile, differing }) => {
    const found = verdicts(row, columns)
    return (
      (!area || row.dataset.area === area) &&
      (!profile || row.dataset.profiles.split(" ").includes(placeOf(profile))) &&
      (!verdict || found.includes(verdict)) &&
      (!differing || new Set(found).size > 1)
    )
  }

  const apply = () => {
    const { column, ...chosen } = Object.fromEntries(new FormData(form))
    const slugs = boxes.filter((one) => one.checked).map((one) => one.value)
    const columns = headings.flatMap((one, place) => (slugs.includes(one.dataset.slug) ? [place] : []))
    headings.forEach((heading, place) => {
      heading.hidden = totals[place].hidden = !columns.includes(place)
    })
    for (const row of rows) {
      row.hidden = !shows(row, columns, chosen)
      headings.forEach((heading, place) => (row.cells[place + 1].hidden = heading.hidden))
    }
    const left = rows.filter((row) => !row.hidden)
    totals.forEach((total, place) => {
      total.textContent = left.filter((row) => broken.has(verdicts(row, [place])[0])).length
    })
    count.textContent = left.length === 1 ? "1 rule" : `${left.length} rules`
    const kept = Object.entries(chosen).filter(([, value]) => value)
    if (slugs.length < boxes.length) kept.push(["columns", slugs.join(",")])
    history.replaceState(null, "", kept.length ? `#${new URLSearchParams(kept)}` : location.pathname)
  }

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (name === "columns") for (const box of boxes) box.checked = value.split(",").includes(box.value)
    else if (name === "differing") form.elements.differing.checked = true
    else if (form.elements[name]) form.elements[name].value = value
  }
  form.addEventListener("change", apply)
  form.addEventListener("submit", (event) => event.preventDefault())
  if (location.hash) apply()
})()

// A link to something within details opens them.
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const details = target && target.closest("details")
  if (!details) return
  details.open = true
  details.scrollIntoView()
}
addEventListener("hashchange", reveal)
reveal()

// What a program prints scrolls in its box, which the keyboard must reach.
for (const one of document.querySelectorAll(".language-text pre > code")) {
  if (one.scrollWidth > one.clientWidth) one.tabIndex = 0
}
