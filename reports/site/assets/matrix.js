// Narrows the matrix to an area, a verdict and a profile; what is chosen stands in the address.
(() => {
  const form = document.getElementById("pc-filters")
  const table = document.getElementById("pc-matrix")
  if (!form || !table) return
  const count = document.getElementById("pc-count")
  const rows = [...table.tBodies[0].rows]

  // Rows name profiles by their places in the list, since names are a third of the page.
  const placeOf = (profile) =>
    String([...form.elements.profile.options].findIndex((one) => one.value === profile))

  const shows = (row, { area, verdict, profile }) =>
    (!area || row.dataset.area === area) &&
    (!profile || row.dataset.profiles.split(" ").includes(placeOf(profile))) &&
    (!verdict || [...row.cells].some((cell) => cell.dataset.verdict === verdict))

  const apply = () => {
    const chosen = Object.fromEntries(new FormData(form))
    for (const row of rows) row.hidden = !shows(row, chosen)
    const left = rows.filter((row) => !row.hidden).length
    count.textContent = left === 1 ? "1 rule" : `${left} rules`
    const kept = Object.entries(chosen).filter(([, value]) => value)
    history.replaceState(null, "", kept.length ? `#${new URLSearchParams(kept)}` : location.pathname)
  }

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (form.elements[name]) form.elements[name].value = value
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
