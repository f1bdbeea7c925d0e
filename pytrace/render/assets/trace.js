"use strict";
(() => {
  const root = document.documentElement;
  const main = document.querySelector("main");
  const svg = document.getElementById("arrows");
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const boxes = new Map();
  for (const li of document.querySelectorAll(".box")) boxes.set(li.id, li);
  const arrows = [];
  for (const li of boxes.values()) {
    for (const item of li.querySelectorAll(".in > li")) {
      arrows.push({ src: item.dataset.src, dst: li.id, unsure: item.classList.contains("unsure"),
        far: item.classList.contains("far"), path: null });
    }
  }
  const namespace = "http://www.w3.org/2000/svg";
  const narrow = matchMedia("(max-width: 760px)");
  const shown = (li) => li && li.offsetParent !== null;

  // A box stands no higher than what leads to it from the lanes before. Operators stand as they come: a long list of
  // names above them would push the rest of the path out of sight.
  const align = () => {
    for (const li of boxes.values()) li.style.marginTop = "";
    if (narrow.matches) return;
    for (const band of document.querySelectorAll(".band[open]")) {
      const top = band.getBoundingClientRect().top;
      for (const lane of band.querySelectorAll(".lane:not(.binding, .operator)")) {
        for (const li of lane.querySelectorAll(".box")) {
          if (!shown(li)) continue;
          let wanted = Infinity;
          for (const arrow of arrows) {
            const src = arrow.dst === li.id ? boxes.get(arrow.src) : null;
            if (src && shown(src) && src.closest(".band") === band && src.closest(".lane") !== lane)
              wanted = Math.min(wanted, src.getBoundingClientRect().top - top);
          }
          const now = li.getBoundingClientRect().top - top;
          if (wanted !== Infinity && wanted > now) li.style.marginTop = `${wanted - now}px`;
        }
      }
    }
  };

  const draw = () => {
    svg.querySelectorAll("path:not(.tip)").forEach((path) => path.remove());
    if (narrow.matches) return;
    const origin = main.getBoundingClientRect();
    for (const arrow of arrows) {
      arrow.path = null;
      const src = boxes.get(arrow.src), dst = boxes.get(arrow.dst);
      if (!shown(src) || !shown(dst)) continue;
      const a = src.querySelector(".card").getBoundingClientRect();
      const b = dst.querySelector(".card").getBoundingClientRect();
      const x1 = a.right - origin.left, y1 = a.top + Math.min(14, a.height / 2) - origin.top;
      const x2 = b.left - origin.left, y2 = b.top + Math.min(14, b.height / 2) - origin.top;
      let d;
      if (b.left > a.right) {
        const bend = Math.max(18, (x2 - x1) / 2);
        d = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 2} ${y2}`;
      } else if (src.parentElement === dst.parentElement) {
        const x = a.left - origin.left;
        d = `M${x} ${y1}C${x - 20} ${y1} ${x - 20} ${y2} ${x2 - 2} ${y2}`;
      } else {
        const x = a.left - origin.left + 16, y = a.bottom - origin.top;
        d = `M${x} ${y}C${x} ${y + 40} ${x2 - 60} ${y2} ${x2 - 2} ${y2}`;
      }
      const path = document.createElementNS(namespace, "path");
      path.setAttribute("d", d);
      path.setAttribute("marker-end", "url(#tip)");
      if (arrow.unsure) path.setAttribute("stroke-dasharray", "4 3");
      path.classList.toggle("far", arrow.far);
      path.classList.toggle("long", b.left - a.right > 2 * a.width);
      svg.append(path);
      arrow.path = path;
    }
    light(current);
  };

  let current = null;
  const walk = (id, from, to) => {
    const seen = new Set([id]), todo = [id];
    while (todo.length) {
      const here = todo.pop();
      for (const arrow of arrows) {
        if (arrow[from] === here && !seen.has(arrow[to])) { seen.add(arrow[to]); todo.push(arrow[to]); }
      }
    }
    return seen;
  };
  // The paths through one box: all that leads to it, and all that it leads to.
  const light = (li) => {
    current = li;
    const above = li ? walk(li.id, "dst", "src") : new Set(), below = li ? walk(li.id, "src", "dst") : new Set();
    for (const [id, box] of boxes) box.classList.toggle("on", above.has(id) || below.has(id));
    for (const arrow of arrows) {
      if (!arrow.path) continue;
      const on = (above.has(arrow.src) && above.has(arrow.dst)) || (below.has(arrow.src) && below.has(arrow.dst));
      arrow.path.classList.toggle("on", on);
    }
  };

  const place = () => { align(); draw(); };
  let waiting = 0;
  const later = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(place); };
  addEventListener("resize", later);
  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", () => {
    const box = part.closest(".box");
    if (box) box.classList.toggle("open", part.open);
    later();
  }));
  narrow.addEventListener("change", later);

  main.addEventListener("focusin", (event) => light(event.target.closest(".box")));
  main.addEventListener("click", (event) => light(event.target.closest(".box")));

  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    root.classList.toggle("searching", words.length > 0);
    let found = 0;
    for (const li of boxes.values()) {
      const text = li.textContent.toLowerCase();
      const hit = words.length > 0 && words.every((word) => text.includes(word));
      li.classList.toggle("hit", hit);
      found += hit;
    }
    count.textContent = words.length ? `${found} found` : "";
  };
  search.addEventListener("input", find);

  const go = (li) => {
    if (!li) return;
    const band = li.closest(".band");
    if (band) band.open = true;
    const card = li.querySelector(".card");
    card.focus();
    card.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const visible = () => [...boxes.values()].filter(shown);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
      if (event.key === "Escape") { search.value = ""; find(); search.blur(); }
      if (event.key === "Enter") {
        const hits = visible().filter((li) => li.classList.contains("hit"));
        go(hits[(hits.indexOf(current) + 1) % hits.length]);
      }
      return;
    }
    if (event.key === "/") { event.preventDefault(); search.focus(); return; }
    if (event.key === "Escape") { light(null); return; }
    const here = event.target.classList && event.target.classList.contains("card") ? event.target.closest(".box") : null;
    if (!here) return;
    let next = null;
    if (event.key === "ArrowRight") next = boxes.get((arrows.find((a) => a.src === here.id && shown(boxes.get(a.dst))) || {}).dst);
    else if (event.key === "ArrowLeft") next = boxes.get((arrows.find((a) => a.dst === here.id && shown(boxes.get(a.src))) || {}).src);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const lane = [...here.parentElement.children].filter(shown);
      next = lane[lane.indexOf(here) + (event.key === "ArrowDown" ? 1 : -1)];
    } else if (event.key === "Enter") {
      const part = here.querySelector(".card details");
      if (part && event.target.classList.contains("card")) { part.open = !part.open; event.preventDefault(); }
      return;
    } else return;
    event.preventDefault();
    go(next);
  });

  const press = (id, action) => {
    const button = document.getElementById(id);
    if (button) button.addEventListener("click", () => action(button));
  };
  press("theme", (button) => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    button.setAttribute("aria-pressed", String(!dark));
  });
  press("all", (button) => {
    const on = main.classList.toggle("all");
    button.setAttribute("aria-pressed", String(on));
    later();
  });
  press("fold", (button) => {
    const bands = [...document.querySelectorAll(".band")];
    const open = bands.some((band) => band.open);
    bands.forEach((band) => { band.open = !open; });
    button.setAttribute("aria-pressed", String(open));
  });
  place();
})();
