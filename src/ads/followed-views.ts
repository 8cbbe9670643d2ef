// Applies the changes of a mesh index to the views of the mesh, in slices, so that a change of a large mesh delays other work of the
// process only briefly.
import type { Clock } from '../base/clock.ts';
import { runInSlices } from '../base/steps.ts';
import type { MeshObserver } from '../mesh-index/mesh-lane.ts';
import type { MeshIndex } from '../policy/mesh-index.ts';
import type { Resource } from '../resource/types.ts';
import type { ResourceEncoder } from './encode-resources.ts';
import { MeshViews } from './mesh-views.ts';
import type { CertificateSource } from './proxy-certificates.ts';

/** Milliseconds of one slice. */
const SLICE_MS = 5;

type FollowedViewsOptions = {
  readonly index: MeshIndex;
  readonly encoder: ResourceEncoder;
  /** The zone of all proxies. */
  readonly zone: string;
  readonly clock: Clock;
  readonly certificates: CertificateSource;
  /** Called when the mesh is gone. */
  readonly onEnd: () => void;
};

export class FollowedViews implements MeshObserver {
  readonly views: MeshViews;
  readonly #clock: Clock;
  readonly #onEnd: () => void;

  constructor({ index, encoder, zone, clock, certificates, onEnd }: FollowedViewsOptions) {
    this.views = new MeshViews(index, encoder, zone, certificates);
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  before(held: readonly Resource[], next: readonly Resource[]): void {
    this.views.before(held, next);
  }

  beforeEverything(): void {
    this.views.beforeEverything();
  }

  async after(next: readonly Resource[]): Promise<void> {
    await runInSlices(this.views.after(next), SLICE_MS, this.#clock);
  }

  ended(): void {
    this.#onEnd();
    this.views.end();
  }
}
