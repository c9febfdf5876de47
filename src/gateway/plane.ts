import type { FixedSettings } from '../model/index.ts';
import { Serving, Tree, whyNotSeveral, type Plane, type TreeOptions } from '../workers/index.ts';

export interface PlaneOptions extends Pick<
  TreeOptions,
  'workers' | 'log' | 'metrics' | 'secrets' | 'inherited'
> {
  readonly fixed: FixedSettings;
}

/**
 * Chooses the serving part: this process itself, or a tree of others.
 * @throws Error where this Node cannot run several
 */
export function choosePlane({ workers, fixed, ...common }: PlaneOptions): Plane {
  if (workers === 1) return new Serving({ ...common, fixed, relieves: common.inherited !== undefined });
  const impossible = whyNotSeveral();
  if (impossible !== undefined) throw new Error(impossible);
  return new Tree({ ...common, workers });
}
