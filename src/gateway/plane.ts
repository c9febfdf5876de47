import type { FixedSettings } from '../model/index.ts';
import {
  ServingProcess,
  ProcessTree,
  workersUnsupported,
  type Plane,
  type ProcessTreeOptions,
} from '../workers/index.ts';

export interface PlaneOptions extends Pick<
  ProcessTreeOptions,
  'workers' | 'log' | 'metrics' | 'secrets' | 'inherited' | 'consoleDoor'
> {
  readonly fixed: FixedSettings;
}

/**
 * Chooses the serving part: this process itself, or a tree of others.
 * @throws Error where this Node cannot run several
 */
export function choosePlane({ workers, fixed, ...common }: PlaneOptions): Plane {
  if (workers === 1)
    return new ServingProcess({ ...common, fixed, relieves: common.inherited !== undefined });
  const impossible = workersUnsupported();
  if (impossible !== undefined) throw new Error(impossible);
  return new ProcessTree({ ...common, workers });
}
