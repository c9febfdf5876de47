import type { Model } from '../model/index.ts';
import { acceptsConnections, bindKey, type SocketHandle } from '../proxy/index.ts';
import type { PortView } from './contract.ts';
import { bindPort, type PortSocket } from './portSocket.ts';

/**
 * The sockets of all ports, one for each worker. This process keeps them open, so that connections that wait to be
 * accepted outlive the worker they wait for.
 */
export class Sockets {
  private readonly workers: number;
  private readonly byKey = new Map<string, readonly PortSocket[]>();

  constructor(workers: number) {
    this.workers = workers;
  }

  get ports(): readonly PortView[] {
    return [...this.byKey].map(([key, sockets]) => ({ key, port: sockets[0]?.port ?? 0 }));
  }

  /**
   * Binds the ports that a model has and the present one has not.
   * @returns their keys
   * @throws Error saying which port cannot be bound; none of them is bound then
   */
  open(model: Model): readonly string[] {
    const opened: string[] = [];
    try {
      for (const [index, bind] of model.binds.entries()) {
        const key = bindKey(bind, index);
        // For datagrams each worker has a socket of its own.
        if (this.byKey.has(key) || !acceptsConnections(bind)) continue;
        this.byKey.set(key, bindPort(bind.port, bind.address, this.workers));
        opened.push(key);
      }
    } catch (error) {
      this.close(opened);
      throw error;
    }
    return opened;
  }

  /** Closes the ports that a model does not have. */
  keepOnly(model: Model): void {
    const wanted = new Set(
      model.binds.flatMap((bind, index) => (acceptsConnections(bind) ? [bindKey(bind, index)] : [])),
    );
    this.close([...this.byKey.keys()].filter((key) => !wanted.has(key)));
  }

  /** Of one worker, which count from 1. */
  *of(worker: number, keys: Iterable<string> = this.byKey.keys()): Iterable<readonly [string, SocketHandle]> {
    for (const key of keys) {
      const socket = this.byKey.get(key)?.[worker - 1];
      if (socket !== undefined) yield [key, socket.handle];
    }
  }

  close(keys: Iterable<string> = [...this.byKey.keys()]): void {
    for (const key of keys) {
      for (const { handle } of this.byKey.get(key) ?? []) handle.close();
      this.byKey.delete(key);
    }
  }
}
