// The identifier of a resource is the same on every control plane; its name is not. This page goes to the place of the resource here.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Failure } from '../parts/failure.tsx';
import { placeOf, resourceTypes } from '../catalog.ts';
import { useLive } from '../live.ts';
import { go, linkTo } from '../router.ts';
import { ApiFailure, get } from '../session.ts';
import type { PageProps } from './page-list.tsx';

type Found = { readonly type: string; readonly mesh?: string; readonly name: string };

export function KriPage({ parts: [, kri = ''] }: PageProps): JSX.Element {
  const { data: href, failure } = useLive(`kri ${kri}`, [], (signal) => placeOfKri(kri, signal));
  useEffect(() => {
    if (href !== undefined) go(href, { replace: true });
  }, [href]);
  return (
    <>
      <div class="head">
        <h1 class="mono">{kri}</h1>
      </div>
      <Failure of={failure} />
    </>
  );
}

async function placeOfKri(kri: string, signal: AbortSignal): Promise<string> {
  const { type, mesh, name } = await get<Found>(`/_kri/${encodeURIComponent(kri)}`, signal);
  const info = (await resourceTypes()).find((one) => one.name === type);
  if (info === undefined) throw new ApiFailure(404, `The page does not show resources of the type ${type}`);
  return linkTo(placeOf(info.path, mesh, name));
}
