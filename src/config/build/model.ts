import type { Model, Place, Route, TcpRoute } from '../../model/index.ts';
import type { Overrides } from '../overrides.ts';
import { formatPath, type Path } from '../path.ts';
import type { DocumentSettings } from '../schema/document.ts';
import type { Tree } from '../tree.ts';
import type { Surroundings } from './surroundings.ts';
import { buildAttachments, buildBind, buildGateway, buildMcpBind, portOfMcp } from './listeners.ts';
import { buildProcess } from './process.ts';

export interface Built {
  readonly model: Model;
  /** Routes that attach to gateways by name, whether or not one of them serves the route. */
  readonly attached: readonly (Route | TcpRoute)[];
}

/** Turns a checked document, in any of its forms, into the one model. */
export function buildModel(
  document: DocumentSettings,
  overrides: Overrides,
  tree: Tree,
  file: string,
): Built {
  const around: Surroundings = {
    place: (path: Path): Place => ({ file, ...tree.place(path, 'key'), path: formatPath(path) }),
    frontendTls: document.frontendPolicies?.tls,
    frontendProxy: document.frontendPolicies?.proxy ?? document.frontendPolicies?.proxyProtocol,
    named: new Map((document.backends ?? []).map((backend) => [backend.name, backend])),
  };
  const attachments = buildAttachments(document, around);
  const mcpPort = portOfMcp(document);
  const model: Model = {
    process: buildProcess(document, overrides),
    binds: [
      ...(document.binds ?? []).map((bind, index) => buildBind(bind, index, around)),
      ...Object.entries(document.gateways ?? {}).map(([name, gateway]) =>
        buildGateway(name, gateway, attachments, around),
      ),
      ...(document.mcp === undefined || mcpPort === undefined
        ? []
        : [buildMcpBind(document.mcp, mcpPort, around)]),
    ],
  };
  const { routes, tcpRoutes } = attachments;
  return { model, attached: [...routes, ...tcpRoutes].map(({ route }) => route) };
}
