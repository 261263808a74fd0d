"use strict";

const filter = document.getElementById("filter");
filter.labels[0].hidden = false;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  for (const section of document.querySelectorAll("section.workload")) {
    section.hidden = !section.querySelector("h2").textContent.toLowerCase().includes(wanted);
    for (const link of document.querySelectorAll("nav li > a, #overview tbody th > a")) {
      if (link.hash === `#${section.id}`) link.closest("li, tr").hidden = section.hidden;
    }
  }
});

for (const pair of document.querySelectorAll(".panes:not(.single)")) {
  const panes = [...pair.querySelectorAll(".pane")];
  for (const pane of panes) {
    pane.addEventListener("scroll", () => {
      for (const other of panes) {
        if (other !== pane && other.scrollTop !== pane.scrollTop) other.scrollTop = pane.scrollTop;
      }
    }, { passive: true });
  }
}

const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((changes) => {
  for (const change of changes) {
    const link = links.get(change.target.id);
    if (change.isIntersecting) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}, { rootMargin: "-30% 0px -60% 0px" });
for (const section of document.querySelectorAll("main section[id]")) seen.observe(section);
