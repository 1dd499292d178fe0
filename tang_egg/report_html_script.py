"""The script of a page: stepping through the derivation, sorting, copying, light and dark.

Without it the page shows everything at once, so nothing depends on it.
"""

from __future__ import annotations

SCRIPT = """
"use strict";
(function () {
  var root = document.documentElement;
  root.classList.add("live");
  var all = function (selector, inside) { return Array.from((inside || document).querySelectorAll(selector)); };

  var theme = document.getElementById("theme");
  var themes = ["auto", "light", "dark"], current = 0;
  theme.addEventListener("click", function () {
    current = (current + 1) % themes.length;
    if (current) root.setAttribute("data-theme", themes[current]); else root.removeAttribute("data-theme");
    theme.textContent = "theme: " + themes[current];
  });

  var area = document.getElementById("derivation-steps");
  if (area) {
    var pairs = all(".pair", area), steps = all(".step", area), at = 0, everything = false;
    var choose = document.getElementById("choose"), where = document.getElementById("where");
    var back = document.getElementById("back"), next = document.getElementById("next");
    var whole = document.getElementById("whole");
    var show = function () {
      area.classList.toggle("stepping", !everything);
      pairs.forEach(function (p) { p.hidden = !everything && !p.contains(steps[at]); });
      steps.forEach(function (s, n) { s.hidden = !everything && n !== at; });
      var pair = steps[at].closest(".pair");
      choose.value = String(pairs.indexOf(pair));
      back.disabled = everything || at === 0;
      next.disabled = everything || at === steps.length - 1;
      where.textContent = everything ? steps.length + " steps" : "step " + (at + 1) + " of " + steps.length;
      whole.textContent = everything ? "one at a time" : "show all";
      whole.setAttribute("aria-pressed", String(everything));
    };
    var go = function (n) { at = Math.min(Math.max(n, 0), steps.length - 1); show(); };
    back.addEventListener("click", function () { go(at - 1); });
    next.addEventListener("click", function () { go(at + 1); });
    whole.addEventListener("click", function () { everything = !everything; show(); });
    choose.addEventListener("change", function () {
      var pair = pairs[Number(choose.value)];
      go(steps.indexOf(pair.querySelector(".step")));
      if (everything) pair.scrollIntoView();
    });
    document.addEventListener("keydown", function (e) {
      if (everything || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
      if (e.target.closest && e.target.closest("pre, select, input, textarea, .wide, nav")) return;
      var box = area.getBoundingClientRect();
      if (box.bottom < 0 || box.top > window.innerHeight) return;
      if (e.key === "ArrowLeft") go(at - 1); else if (e.key === "ArrowRight") go(at + 1); else return;
      e.preventDefault();
    });
    var follow = function () {
      var id = location.hash.slice(1), target = id && document.getElementById(id);
      var pair = target && target.closest(".pair");
      if (!pair) return;
      go(steps.indexOf(pair.querySelector(".step")));
      target.scrollIntoView();
    };
    window.addEventListener("hashchange", follow);
    show();
    follow();
  }

  all("table.sortable").forEach(function (table) {
    var body = table.tBodies[0];
    all("th", table).forEach(function (th, column) {
      var button = th.querySelector("button");
      if (!button) return;
      button.addEventListener("click", function () {
        var down = th.getAttribute("aria-sort") === "ascending", sign = down ? -1 : 1;
        all("th", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        var key = function (row) { return row.cells[column].getAttribute("data-key") || ""; };
        Array.from(body.rows).sort(function (x, y) {
          var a = key(x), b = key(y), m = Number(a), n = Number(b);
          var order = a !== "" && b !== "" && !isNaN(m) && !isNaN(n) ? m - n : a < b ? -1 : a > b ? 1 : 0;
          return sign * order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });

  all(".copy").forEach(function (button) {
    button.addEventListener("click", function () {
      var text = all(".line", button.parentElement).map(function (l) { return l.textContent; }).join("\\n") + "\\n";
      var said = function (ok) {
        button.textContent = ok ? "copied" : "select it by hand";
        setTimeout(function () { button.textContent = "copy"; }, 1500);
      };
      var old = function () {
        var field = document.createElement("textarea");
        field.value = text;
        document.body.appendChild(field);
        field.select();
        var ok = false;
        try { ok = document.execCommand("copy"); } catch (e) { ok = false; }
        field.remove();
        said(ok);
      };
      if (navigator.clipboard && navigator.clipboard.writeText) {
        navigator.clipboard.writeText(text).then(function () { said(true); }, old);
      } else old();
    });
  });
})();
"""
