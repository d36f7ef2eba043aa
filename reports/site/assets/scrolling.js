// A table or code that is wider than its page scrolls inside a box; with the keyboard alone, that
// takes a box that gets the focus. The theme makes some boxes late, and widths change. On devices
// without a mouse, the theme takes the focus from code; here, code that scrolls gets it back.
(() => {
  const BOXES = ".md-typeset__scrollwrap, .md-typeset pre > code"
  const seen = new WeakSet()
  const fit = (box) => {
    const scrolls = box.scrollWidth > box.clientWidth
    if (scrolls && !box.hasAttribute("tabindex")) {
      box.tabIndex = 0
      box.dataset.scrolls = ""
    } else if (!scrolls && "scrolls" in box.dataset && box !== document.activeElement) {
      box.removeAttribute("tabindex")
      delete box.dataset.scrolls
    }
  }
  const sizes = new ResizeObserver((resized) => {
    for (const { target } of resized) fit(target.closest(BOXES) || target)
  })
  const find = () => {
    for (const box of document.querySelectorAll(BOXES)) {
      if (seen.has(box)) continue
      seen.add(box)
      fit(box)
      for (const one of [box, ...box.children]) sizes.observe(one)
    }
  }
  const changed = (changes) => {
    if (changes.some(({ type }) => type === "childList")) find()
    for (const { type, target } of changes) if (type === "attributes" && target.matches(BOXES)) fit(target)
  }
  const watch = () => {
    find()
    const watched = { childList: true, subtree: true, attributeFilter: ["tabindex"] }
    new MutationObserver(changed).observe(document.body, watched)
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", watch)
  else watch()
})()
