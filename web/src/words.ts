// Times and counts as people read them.
import { now } from './live.ts';

/** `850 ms`, `4.2 s`, `3 min`, `2 h`, `5 d`. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${String(Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${String(Math.round(ms / 60_000))} min`;
  if (ms < 172_800_000) return `${String(Math.round(ms / 3_600_000))} h`;
  return `${String(Math.round(ms / 86_400_000))} d`;
}

/** `14:02:03.118`, with the date before it on another day. */
export function clockTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const time = `${at.toLocaleTimeString('en-GB', { hour12: false })}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString('sv-SE')} ${time}`;
}

/** `for 12 s`; `''` without a time. A part that calls it is drawn again as the time goes on. */
export function sinceThen(iso: string | null | undefined): string {
  const words = ago(iso);
  return words === '' ? '' : `for ${words.replace(/ ago$/, '')}`;
}

/** `12 s ago`; `''` without a time. A part that calls it is drawn again as the time goes on. */
export function ago(iso: string | null | undefined): string {
  const at = iso === null || iso === undefined ? NaN : Date.parse(iso);
  return Number.isNaN(at) ? '' : `${lasting(Math.max(0, Math.max(now.value, Date.now()) - at))} ago`;
}

/** `1 zone`, `2 zones`, `10,000 zones`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** A name of the wire: that of a resource outside of meshes ends with a dot. */
export function wireNameWords(name: string): string {
  return name.replace(/\.$/, '');
}

/** With a capital letter: a reason of the API that stands alone. */
export function asSentence(reason: string): string {
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
}
