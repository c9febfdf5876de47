import type { Model } from '../../model/index.ts';
import type { Gateway } from '../types/index.ts';
import type { ChosenParameters } from './parameters.ts';

/** The part that is the same for all proxies of a controller. */
export interface Installation {
  readonly controllerName: string;
  /** Used where the parameters name none. */
  readonly image: string;
  readonly imagePullPolicy?: string | undefined;
  /** The address where proxies get their models: `host:port`. The certificate there is for the host. */
  readonly controller: string;
  /** An address of that host, so that proxies find it without DNS. */
  readonly controllerAddress?: string | undefined;
  /** Certificates (PEM) that proxies trust the controller by. */
  readonly trust: string;
}

/** A port that a Gateway serves. */
export interface ServedPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** Everything that decides what objects a Gateway gets. */
export interface ProxyRequest {
  readonly gateway: Gateway;
  /** At least one. */
  readonly ports: readonly ServedPort[];
  /** A client ought to come back to the same proxy: MCP sessions belong to the one that began them. */
  readonly sessions: boolean;
  readonly parameters: ChosenParameters;
  readonly installation: Installation;
  /** The number of replicas that its Deployment requests now, if there is one. */
  readonly replicas?: number | undefined;
}

/** The ports of a model; a number may be of TCP and of UDP. */
export function portsOf({ binds }: Model): readonly ServedPort[] {
  return binds.flatMap(({ port, listeners }) => {
    const protocols = new Set(listeners.map(({ protocol }) => (protocol === 'UDP' ? 'UDP' : 'TCP')));
    return [...protocols].toSorted().map((protocol) => ({ port, protocol }));
  });
}

/** Are there MCP sessions in what a model serves? */
export const hasSessions = ({ binds }: Model): boolean =>
  binds.some(({ listeners }) =>
    listeners.some(
      (listener) =>
        'routes' in listener &&
        listener.routes.some(({ backends }) => backends.some(({ kind }) => kind === 'mcp')),
    ),
  );
