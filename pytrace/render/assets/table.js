"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { heads, words, rows, base, details } = data;
  const ROW = 26, AHEAD = 12;
  const scroll = document.querySelector(".scroll");
  const body = document.querySelector("tbody");
  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const filters = [...document.querySelectorAll("select")];
  const texts = rows.map((row) => `${row[0]} ${words[row[heads.length]]}`.toLowerCase());
  let order = rows.map((_, number) => number), sorted = { column: -1, up: true };

  const word = (row, column) => (column === 0 ? row[0] : words[row[column + 1]]);
  const link = (place) => (base && place ? `${base}${place.replace(/:(\d+)$/, "#L$1")}` : "");

  const cell = (tag, text, role) => {
    const made = document.createElement(tag);
    made.textContent = text || "–";
    if (role) made.className = role;
    if (text && text.length > 30) made.title = text;
    return made;
  };
  const line = (number) => {
    const row = rows[number], made = document.createElement("tr");
    const name = cell("th", row[0], "");
    name.scope = "row";
    made.append(name);
    for (let column = 1; column < heads.length; column += 1) {
      const text = word(row, column);
      made.append(cell("td", text, column <= data.backends ? text || "none" : ""));
    }
    made.dataset.row = number;
    made.tabIndex = 0;
    return made;
  };
  const spacer = (height) => {
    const made = document.createElement("tr"), inner = document.createElement("td");
    made.setAttribute("aria-hidden", "true");
    inner.colSpan = heads.length;
    inner.style.cssText = `height:${height}px;padding:0;border:0`;
    made.append(inner);
    return made;
  };

  // Only the rows on screen are in the document: thousands of rows open at once.
  let first = -1, last = -1;
  const draw = (force) => {
    const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - AHEAD);
    const to = Math.min(order.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + AHEAD);
    if (!force && from === first && to === last) return;
    first = from; last = to;
    const part = document.createDocumentFragment();
    // An even number of rows above keeps the stripes where they are.
    if (from % 2) part.append(spacer(0));
    part.append(spacer(from * ROW));
    for (let place = from; place < to; place += 1) part.append(line(order[place]));
    part.append(spacer((order.length - to) * ROW));
    // The row that has the focus keeps it, or arrow keys would end at the first row that is drawn anew.
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : "";
    body.replaceChildren(part);
    if (focused) body.querySelector(`tr[data-row="${focused}"]`)?.focus({ preventScroll: true });
    count.textContent = `${order.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
  };

  const choose = () => {
    const terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const picked = filters.map((select) => [Number(select.dataset.column), select.value]).filter((pair) => pair[1] !== "*");
    order = [];
    rows.forEach((row, number) => {
      if (!terms.every((term) => texts[number].includes(term))) return;
      for (const [column, value] of picked) {
        const text = word(row, column);
        if (value === "any" ? !text : value === "none" ? text : text !== value) return;
      }
      order.push(number);
    });
    arrange();
  };
  const arrange = () => {
    const { column, up } = sorted;
    const sign = up ? 1 : -1;
    if (column >= 0) order.sort((a, b) => {
      const one = word(rows[a], column), two = word(rows[b], column);
      return (one < two ? -1 : one > two ? 1 : 0) * sign || a - b;
    });
    document.querySelectorAll("thead th").forEach((th, place) => {
      th.setAttribute("aria-sort", place === column ? (up ? "ascending" : "descending") : "none");
      th.querySelector("span").textContent = place === column ? (up ? " ▲" : " ▼") : "";
    });
    scroll.scrollTop = 0;
    draw(true);
  };
  document.querySelectorAll("thead th button").forEach((button, place) => button.addEventListener("click", () => {
    sorted = { column: place, up: sorted.column === place ? !sorted.up : true };
    arrange();
  }));
  search.addEventListener("input", choose);
  filters.forEach((select) => select.addEventListener("change", choose));
  scroll.addEventListener("scroll", () => draw(false), { passive: true });
  addEventListener("resize", () => draw(true));

  const dialog = document.querySelector("dialog");
  const add = (parent, tag, text) => { const made = document.createElement(tag); made.textContent = text; parent.append(made); return made; };
  const linked = (parent, tag, text, place) => {
    const made = add(parent, tag, place ? `${text}  ` : text);
    if (!place) return;
    const url = link(place);
    const where = add(made, url ? "a" : "span", place);
    if (url) { where.href = url; where.rel = "noreferrer"; }
  };
  const show = (number) => {
    const row = rows[number], more = details[number];
    dialog.replaceChildren();
    add(dialog, "h2", row[0]);
    linked(dialog, "div", "", row[1]);
    add(dialog, "pre", more.schema);
    const list = add(dialog, "dl", "");
    for (const [key, how, functions, reached] of more.cells) {
      add(list, "dt", `${key}: ${how}`);
      for (const [name, place] of functions) linked(list, "dd", name, place);
      for (const [what, names] of reached) add(list, "dd", `${what}: ${names.join(", ")}`);
    }
    for (const [what, name, place] of more.rest) { add(list, "dt", what); linked(list, "dd", name, place); }
    const close = add(dialog, "button", "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.showModal();
  };
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  body.addEventListener("click", (event) => {
    const made = event.target.closest("tr[data-row]");
    if (made) show(Number(made.dataset.row));
  });
  body.addEventListener("keydown", (event) => {
    const made = event.target.closest("tr[data-row]");
    if (!made) return;
    if (event.key === "Enter") { show(Number(made.dataset.row)); event.preventDefault(); }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const place = order.indexOf(Number(made.dataset.row)) + step;
    if (!step || place < 0 || place >= order.length) return;
    event.preventDefault();
    const drawn = () => body.querySelector(`tr[data-row="${order[place]}"]`);
    if (!drawn()) { scroll.scrollTop = place * ROW - scroll.clientHeight / 2; draw(true); }
    drawn()?.focus();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== search && !dialog.open) { event.preventDefault(); search.focus(); }
  });
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  arrange();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
