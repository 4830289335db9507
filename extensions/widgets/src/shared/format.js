// Figures for people, as hermes_nb/model/format.py has them: one list tests both. What is unknown is never shown as 0.

/**
 * A duration: `1.2 ms`, `340 ms`, `3.4 s`, `2 min 5 s`, `1 h 4 min`.
 * @param {number} s
 */
export function formatSeconds(s) {
  const ms = Math.max(s, 0) * 1000;
  if (ms < 999.5) return `${ms < 9.95 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  if (ms < 59_950) return `${(Math.round(ms / 100) / 10).toFixed(1)} s`;
  const whole = Math.round(ms / 1000);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/**
 * What was sent and got: `1,165 tokens in (20 cached), 66 out`, `tokens unknown`.
 * @param {number | null | undefined} sent
 * @param {number | null | undefined} got
 * @param {number | null | undefined} [cached]
 */
export function formatTokens(sent, got, cached) {
  const known = n => n?.toLocaleString("en") ?? "unknown";
  if ((sent ?? got ?? null) === null) return "tokens unknown";
  return `${known(sent)} tokens in${cached ? ` (${known(cached)} cached)` : ""}, ${known(got)} out`;
}
