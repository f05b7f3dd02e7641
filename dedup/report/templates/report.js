"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ROWS = 25, COPIES = 50, OPTIONS = 200;
  const table = document.getElementById("group-table");
  const body = table.tBodies[0];
  const at = (id) => document.getElementById(id);
  const [search, results, previous, next] = ["search", "results", "previous", "next"].map(at);
  const filters = ["verdict", "host", "pattern", "least", "most", "retitled"].map(at);
  const controls = search.form;
  let order = "copies", descending = true, page = 0, shown = [];

  // What stands before the name of a site, as titles.py has it.
  const ownTitle = (title) => title.toLowerCase().split(/(?<=\S)(?:\s[–—|·•»-]+\s|\s?\|)/)[0].trim();

  // A copy: its URL, title and distance (null if it is an exact duplicate), the number of the
  // differences, and where it is.
  for (const group of data.groups)
    group.copies = group.copies.map(([shared, rest, title, distance, diff, pattern]) => {
      const url = group.url.slice(0, shared) + rest;
      return {
        url, distance, diff, title: title === 0 ? group.title : title, pattern: data.patterns[pattern],
        host: data.patterns[pattern].split("/")[0], retitled: Boolean(title && group.title) && ownTitle(title) !== ownTitle(group.title),
      };
    });

  const collator = new Intl.Collator(undefined, { numeric: true });
  const number = (value) => value.toLocaleString("en");

  // Everything goes in as text: whatever a page or its URL holds can only show.
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  // A text of the interface: in both languages, of which the style shows one.
  function say(name, ...values) {
    const made = document.createDocumentFragment();
    const fill = (text) => text.replace(/\{(\d)\}/g, (_, place) => values[place]);
    data.messages[name].forEach((text, place) => made.append(element("span", { class: "t", lang: ["en", "zh"][place] }, fill(text))));
    return made;
  }

  function link(url) {
    if (!/^https?:\/\//i.test(url) || /[\ufffd\u2026]/.test(url))
      return element("span", { class: "url", dir: "ltr" }, url);
    return element("a", { class: "url", dir: "ltr", href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, url);
  }

  function diff(index) {
    const parts = data.diffs[index];
    const box = element("div", { class: "diff", dir: "auto", tabindex: "0", translate: "no", lang: "" });
    const same = parts.every((part) => part[0] === "=");
    const head = parts[0]?.[0] === "≡" ? "js_same_text" : same ? "js_diff_same" : "js_diff";
    box.append(element("p", { class: "quiet" }, say(head)));
    for (const part of parts) {
      // The blank or line end before the words stands before their line, too.
      const words = /^[ \n]/.test(part.slice(1)) ? part.slice(2) : part.slice(1);
      if (words.length < part.length - 1) box.append(part[1]);
      if (part[0] === "…") box.append(element("p", { class: "quiet" }, say("js_cut")));
      else if (part[0] === "+") box.append(element("ins", {}, words));
      else if (part[0] === "-") box.append(element("del", {}, words));
      else box.append(element("bdi", {}, words));
    }
    return box;
  }

  function toggleDiff(button) {
    const holder = button.closest("li");
    const open = holder.querySelector(".diff");
    button.setAttribute("aria-expanded", String(!open));
    if (open) open.remove();
    else holder.append(diff(Number(button.dataset.diff)));
    button.replaceChildren(say(open ? "js_show" : "js_hide"));
  }

  function compareButton(index, differs) {
    return element("button", { type: "button", class: differs ? "compare differs" : "compare", "data-diff": index, "aria-expanded": "false" }, say("js_show"));
  }

  const rounded = (value) => String(Math.round(value * 1000) / 1000);
  const farthest = (copies) => copies.reduce((most, copy) => Math.max(most, copy.distance ?? 0), 0);
  const keys = {
    original: ({ group }) => group.url, copies: ({ group }) => group.count,
    distance: ({ copies }) => farthest(copies), host: ({ group }) => hostOf(group),
  };
  const hostOf = (group) => /^[a-z]+:\/\/([^/?#]*)/i.exec(group.url)?.[1] ?? "";
  const titled = (title) => title ? element("bdi", { class: "title", dir: "auto", lang: "" }, title) : null;

  function detailOf({ group, copies }) {
    const list = element("ul", { class: "copies-list" });
    const original = element("span", { class: "distance" }, say("js_original"));
    const here = element("a", { href: `#group-${group.id}`, class: "here" }, say("js_link"));
    list.append(element("li", {}, element("div", { class: "pair" }, original, element("div", { class: "urls" }, titled(group.title), link(group.url)), here)));
    const more = element("button", { type: "button" });
    const add = (from) => {
      for (const copy of copies.slice(from, from + COPIES)) list.insertBefore(itemOf(copy), more.parentNode);
      const left = copies.length - from - COPIES;
      more.hidden = left <= 0;
      more.replaceChildren(`+ ${number(left)} `, say(left === 1 ? "js_more_copy" : "js_more_copies"));
      more.onclick = () => add(from + COPIES);
    };
    list.append(element("li", { class: "more" }, more));
    add(0);
    const hidden = group.count - copies.length;
    if (hidden > 0)
      list.append(element("li", { class: "quiet" }, `+ ${number(hidden)} `, say(hidden === 1 ? "js_one_not_shown" : "js_not_shown")));
    return list;
  }

  function itemOf({ url, title, distance, diff: index }) {
    const label = distance === null ? [say("js_exact")] : [say("js_distance"), ` ${rounded(distance)}`];
    const end = index === null ? element("span", { class: "quiet" }, say("js_no_text")) : compareButton(index, distance !== null);
    return element("li", {}, element("div", { class: "pair" }, element("span", { class: "distance" }, ...label),
      element("div", { class: "urls" }, titled(title), link(url)), end));
  }

  function toggleGroup(button, found) {
    const row = button.closest("tr");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return row.nextElementSibling.remove();
    const detail = element("tr", { class: "detail", role: "row" }, element("td", { colspan: "4", role: "cell" }, detailOf(found)));
    row.after(detail);
    const first = detail.querySelector(".differs") || detail.querySelector(".compare");
    if (first) toggleDiff(first);
  }

  function rowOf(found) {
    const { group, copies } = found;
    const button = element("button", { type: "button", class: "open", "aria-expanded": "false" });
    button.append(...[titled(group.title)].filter(Boolean), element("span", { class: "url", dir: "ltr" }, group.url));
    button.addEventListener("click", () => toggleGroup(button, found));
    return element("tr", { role: "row", id: `group-${group.id}` },
      element("td", { role: "cell", class: "original" }, button),
      element("td", { role: "cell", class: "copies" }, label("copies"), number(group.count)),
      element("td", { role: "cell", class: "distance" }, label("distance"), rounded(farthest(copies))),
      element("td", { role: "cell", class: "host" }, element("span", { class: "url", dir: "ltr" }, hostOf(group))));
  }

  // The name of its column, for narrow screens, which have no columns.
  const label = (name) => element("span", { class: "label" }, ...[...table.querySelectorAll(`th.${name} .t`)].map((text) => text.cloneNode(true)), say("js_colon"));

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / ROWS));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...shown.slice(page * ROWS, (page + 1) * ROWS).map(rowOf));
    if (!shown.length) body.append(element("tr", { role: "row" }, element("td", { colspan: "4", role: "cell" }, say("js_no_results"))));
    const copies = shown.reduce((sum, found) => sum + found.copies.length, 0);
    results.replaceChildren(`${number(shown.length)} `, say(shown.length === 1 ? "js_result" : "js_results"), say("js_comma"), `${number(copies)} `, say(copies === 1 ? "js_copy" : "js_copies"));
    at("page").replaceChildren(say("js_page", page + 1, pages));
    previous.disabled = page === 0;
    next.disabled = page === pages - 1;
    document.querySelector(".pager").hidden = pages === 1;
  }

  // What a copy must be, by the filters.
  function wanted() {
    const [verdict, host, pattern, least, most, retitled] = filters.map((each) => each.type === "checkbox" ? each.checked : each.value);
    return (copy) =>
      (!verdict || (verdict === "exact") === (copy.distance === null)) &&
      (!host || copy.host === host) && (!pattern || copy.pattern === pattern) &&
      (least === "" || (copy.distance ?? 0) >= Number(least)) && (most === "" || (copy.distance ?? 0) <= Number(most)) &&
      (!retitled || copy.retitled);
  }

  function update() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = wanted();
    shown = [];
    for (const group of data.groups) {
      const ours = `${group.url} ${group.title}`.toLowerCase();
      const left = words.filter((word) => !ours.includes(word));
      const copies = group.copies.filter((copy) => {
        const theirs = left.length ? `${copy.url} ${copy.title}`.toLowerCase() : "";
        return left.every((word) => theirs.includes(word)) && fits(copy);
      });
      if (copies.length) shown.push({ group, copies });
    }
    const key = keys[order];
    shown.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const less = typeof x === "number" ? x - y : collator.compare(x, y);
      return (descending ? -less : less) || b.group.count - a.group.count;
    });
    page = 0;
    draw();
  }

  function fill(select, values) {
    select.append(element("option", { value: "" }));
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    for (const [value, count] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, OPTIONS))
      select.append(element("option", { value }, `${value} (${number(count)})`));
    select.closest("label").hidden = counts.size < 2;
  }

  // Options hold text only, in one language.
  function nameOptions(language) {
    const text = (name) => data.messages[name][language === "zh" ? 1 : 0];
    for (const select of controls.querySelectorAll("select")) select.options[0].text = text("js_all");
    for (const option of at("verdict").options) if (option.value) option.text = text(`js_${option.value}_copies`);
  }

  // Spreadsheets take what begins with these for formulas.
  const cell = (value) => `"${String(value ?? "").replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;

  function save() {
    const lines = [["original", "original_title", "copy", "title", "verdict", "distance"]];
    for (const { group, copies } of shown)
      for (const { url, title, distance } of copies)
        lines.push([group.url, group.title, url, title, distance === null ? "exact-duplicate" : "near-duplicate", distance ?? 0]);
    const text = "\ufeff" + lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    element("a", { href: address, download: "copies.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  // #group-… opens a group, #other-titles shows the copies with titles of their own.
  function follow() {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id === "other-titles") {
      controls.reset();
      at("retitled").checked = true;
      update();
    } else if (id.startsWith("group-")) {
      const place = () => shown.findIndex(({ group }) => `group-${group.id}` === id);
      if (place() < 0) { controls.reset(); update(); }
      if (place() < 0) return;
      page = Math.floor(place() / ROWS);
      draw();
      const row = at(id);
      row.querySelector(".open").click();
      row.scrollIntoView();
      row.querySelector(".open").focus({ preventScroll: true });
    }
  }

  search.addEventListener("input", update);
  for (const each of filters) each.addEventListener(each.type === "number" ? "input" : "change", update);
  controls.addEventListener("submit", (event) => event.preventDefault());
  at("clear").addEventListener("click", () => setTimeout(update));
  at("csv").addEventListener("click", save);
  addEventListener("hashchange", follow);
  document.addEventListener("spoken", (event) => nameOptions(event.detail));
  previous.addEventListener("click", () => { page -= 1; draw(); });
  next.addEventListener("click", () => { page += 1; draw(); });
  for (const button of table.querySelectorAll("[data-sort]"))
    button.addEventListener("click", () => {
      const chosen = button.dataset.sort;
      descending = chosen === order ? !descending : chosen === "copies" || chosen === "distance";
      order = chosen;
      for (const header of table.tHead.rows[0].cells) header.removeAttribute("aria-sort");
      button.closest("th").setAttribute("aria-sort", descending ? "descending" : "ascending");
      update();
    });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".compare")) toggleDiff(button);
    else if (button.dataset.copy) copy(button);
  });

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.replaceChildren(say("js_copied"));
    } catch {
      getSelection().selectAllChildren(source); // where a file may not use the clipboard
    }
  }

  const all = data.groups.flatMap((group) => group.copies);
  previous.append(say("js_previous"));
  next.append(say("js_next"));
  fill(at("verdict"), all.map((copy) => copy.distance === null ? "exact" : "near"));
  fill(at("host"), all.map((copy) => copy.host));
  fill(at("pattern"), all.map((copy) => copy.pattern));
  at("group-browser").hidden = false;
  update();
  follow();
})();
