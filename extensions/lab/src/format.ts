/** Figures as people read them. What is unknown stays unknown: it is never shown as 0. */

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];

/** `3 turns`, `1 turn`. */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** The sum of what is known of both; `tokens unknown` when nothing is. */
export function tokens(...figures: (number | null)[]): string {
  const known = figures.filter((n): n is number => n !== null);
  return known.length
    ? counted(
        known.reduce((a, b) => a + b, 0),
        "token",
      )
    : "tokens unknown";
}

/** `just now`, `5 minutes ago`, then a date; "" for a time that is not known (null, 0), which is no day of 1970. */
export function ago(unixS: number | null | undefined, nowS = Date.now() / 1000): string {
  if (!unixS || !Number.isFinite(unixS)) {
    return "";
  }
  const s = nowS - unixS;
  if (s > 7 * 86400) {
    return new Date(unixS * 1000).toLocaleDateString("en-CA");
  }
  const step = STEPS.find(([, length]) => s >= length);
  if (!step) {
    return "just now";
  }
  return new Intl.RelativeTimeFormat("en").format(-Math.floor(s / step[1]), step[0]);
}

/** A duration as `hermes_nb/model/format.py` has it: `340 ms`, `3.4 s`, `2 min 5 s`, `1 h 4 min`. */
export function lasted(s: number): string {
  const ms = Math.max(s, 0) * 1000;
  if (ms < 999.5) {
    return `${ms < 9.95 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  }
  if (ms < 59_950) {
    return `${(Math.round(ms / 100) / 10).toFixed(1)} s`;
  }
  const whole = Math.round(ms / 1000);
  if (whole < 3600) {
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** A word of a `%hermes` line: quoted where it needs to be, never of two lines. */
export function word(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(line) ? line : `"${line.replace(/(["\\])/g, "\\$1")}"`;
}
