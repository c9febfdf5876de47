import type { FixedSettings } from '../model/index.ts';
import { Serving, Tree, whyNotSeveral, type Plane, type TreeOptions } from '../workers/index.ts';

/** Variables that hold secrets of the gateway itself: no child process inherits them. */
const ownSecrets = [
  'SESSION_KEY',
  'OIDC_COOKIE_SECRET',
  'XDS_AUTH_TOKEN',
  'CA_AUTH_TOKEN',
  'OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'PORTCULLIS_CLIENT_SECRET',
];

export interface PlaneOptions extends Pick<TreeOptions, 'workers' | 'log' | 'metrics' | 'inherited'> {
  readonly fixed: FixedSettings;
  /** Names of further variables that the configuration takes secrets from. */
  readonly secretVariables: readonly string[];
}

/**
 * What serves: this process itself, or a tree of others.
 * @throws Error where this Node cannot run several
 */
export function choosePlane({ workers, fixed, secretVariables, ...common }: PlaneOptions): Plane {
  const secrets = [...ownSecrets, ...secretVariables];
  if (workers === 1)
    return new Serving({ ...common, secrets, fixed, relieves: common.inherited !== undefined });
  const impossible = whyNotSeveral();
  if (impossible !== undefined) throw new Error(impossible);
  return new Tree({ ...common, secrets, workers });
}
