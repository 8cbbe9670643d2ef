import type { JSX } from 'preact';
import { linkTo } from '../router.ts';

/** A policy by its identifier, which is the same on every control plane. */
export function PolicyLink({ kri, name }: { readonly kri: string; readonly name: string }): JSX.Element {
  return <a href={linkTo(['kri', kri])}>{name}</a>;
}
