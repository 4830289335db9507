// Lengths of time on the timeline's ruler.

// What the ruler says at `t` seconds, where ticks are `step` apart.
/**
 * @param {number} t
 * @param {number} step
 */
export function tickLabel(t, step) {
  if (Math.abs(t) < step / 1000) return "0";
  if (step < 1e-3) return `${(t * 1000).toFixed(step < 1e-5 ? 3 : step < 1e-4 ? 2 : 1)} ms`;
  if (t < 1 && step < 1) return `${Math.round(t * 1000)} ms`;
  if (step < 1) return `${t.toFixed(step < 0.01 ? 3 : step < 0.1 ? 2 : 1)} s`;
  if (t < 120) return `${Math.round(t)} s`;
  const s = Math.round(t);
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} min` : `${s / 60} min`;
  if (s < 172800) return `${Math.floor(s / 3600)}:${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} h`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}
