import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** A full collection. Everything that is in use is among the old objects afterwards. */
export const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

/** Bytes of old objects, which stay until the next full collection. */
export const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
