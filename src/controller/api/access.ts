import { Agent, type RequestOptions } from 'node:https';
import { createHash } from 'node:crypto';
import type { KubeConfig } from './kubeConfig.ts';

/** The route of requests to the API server, and their credentials. */
export interface Access {
  readonly server: URL;
  /** The namespace of the credentials: of the pod, or of the context. */
  readonly namespace: string | undefined;
  /** Options for the next request: connections and headers that carry the credentials. */
  options(): Promise<RequestOptions>;
  /** The server did not take the credentials: they are read again before the next request. */
  refused(): void;
  close(): void;
}

/** Certificates and tokens on disk are replaced while we run; this is how long old ones may be used. */
const freshMs = 10_000;

export interface AccessOptions {
  /** A kubeconfig, instead of those that are looked for. */
  readonly file?: string | undefined;
  /** The context of the kubeconfig, instead of its current one. */
  readonly context?: string | undefined;
}

/**
 * Access by `KUBECONFIG`, `~/.kube/config`, or the ServiceAccount of the pod, in this order.
 *
 * @throws Error where the configuration cannot be read or names no cluster
 */
export async function kubeAccess({ file, context }: AccessOptions = {}): Promise<Access> {
  // Some 80 MB of generated classes: only a process that talks to a cluster pays for them.
  const library = await import('./kubeConfig.ts');
  return new KubeAccess(() => {
    const config = new library.KubeConfig();
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
    if (context !== undefined) config.setCurrentContext(context);
    return config;
  });
}

class KubeAccess implements Access {
  readonly server: URL;
  readonly namespace: string | undefined;
  readonly #load: () => KubeConfig;
  #config: KubeConfig;
  #reloadedAt = Number.NEGATIVE_INFINITY;
  #reload = false;
  #agent: { readonly of: string; readonly agent: Agent } | undefined;
  #options: { readonly until: number; readonly options: RequestOptions } | undefined;

  constructor(load: () => KubeConfig) {
    this.#load = load;
    this.#config = load();
    const cluster = this.#config.getCurrentCluster();
    if (cluster === null) throw new Error('the current context of the kubeconfig has no cluster');
    this.server = new URL(cluster.server);
    this.namespace = this.#config.getContextObject(this.#config.getCurrentContext())?.namespace;
  }

  async options(): Promise<RequestOptions> {
    const now = performance.now();
    if (this.#options !== undefined && now < this.#options.until) return this.#options.options;
    if (this.#reload && now - this.#reloadedAt > freshMs) {
      this.#config = this.#load();
      this.#reloadedAt = now;
      this.#reload = false;
    }
    const config = this.#config;
    const read: RequestOptions = {};
    await config.applyToHTTPSOptions(read);
    // The library's agents reach through proxies; without one, ours keeps connections and follows new certificates.
    if (config.getCurrentCluster()?.proxyUrl === undefined && this.server.protocol === 'https:')
      read.agent = this.#agentFor(read);
    this.#options = { until: now + freshMs, options: read };
    return read;
  }

  refused(): void {
    this.#reload = true;
    this.#options = undefined;
  }

  close(): void {
    this.#agent?.agent.destroy();
    this.#agent = undefined;
    this.#options = undefined;
  }

  /** Certificates are part of an agent: other ones need another agent. Requests under way end on the old one. */
  #agentFor({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): Agent {
    const of = createHash('sha256')
      .update(JSON.stringify([ca, cert, key, servername, rejectUnauthorized].map(String)))
      .digest('base64');
    if (this.#agent?.of === of) return this.#agent.agent;
    const agent = new Agent({
      keepAlive: true,
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    });
    this.#agent = { of, agent };
    return agent;
  }
}
