/** Figures as people read them. What is unknown stays unknown: it is never shown as 0. */

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60]
];

/** `3 turns`, `1 turn`. */
export function counted(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;
}

/** The sum of what is known of both; `tokens unknown` when nothing is. */
export function tokens(...figures: (number | null)[]): string {
  const known = figures.filter((n): n is number => n !== null);
  return known.length ? counted(known.reduce((a, b) => a + b, 0), 'token') : 'tokens unknown';
}

/** `just now`, `5 minutes ago`, then a date. */
export function ago(unixS: number, nowS = Date.now() / 1000): string {
  const s = nowS - unixS;
  if (s > 7 * 86400) {
    return new Date(unixS * 1000).toLocaleDateString('en-CA');
  }
  const step = STEPS.find(([, length]) => s >= length);
  if (!step) {
    return 'just now';
  }
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(s / step[1]), step[0]);
}

/** `12 s`, `3 min 5 s`. */
export function lasted(s: number): string {
  const whole = Math.max(0, Math.floor(s));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A word of a `%hermes` line: quoted where it needs to be, never of two lines. */
export function word(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(line) ? line : `"${line.replace(/(["\\])/g, '\\$1')}"`;
}
