import { messageOf } from '../errorText.ts';
import type { Bind, Model } from '../model/index.ts';
import { acceptsConnections, bindKey, type SocketHandle } from '../proxy/index.ts';
import type { PortView } from './contract.ts';
import { bindPort, type PortSocket, type SocketsByKey } from './portSocket.ts';

/**
 * The sockets of all ports, at least one for each worker. This process keeps them open, so that connections that wait
 * to be accepted outlive the worker they wait for.
 */
export class Sockets {
  private readonly workers: number;
  private readonly byKey = new Map<string, readonly PortSocket[]>();
  private readonly inherited: Map<string, readonly PortSocket[]>;
  /** The reasons why optional ports of the last model could not be bound, by key. */
  private readonly failed = new Map<string, string>();

  /** @param inherited sockets of the program before this one, of which the first model takes those that it has a use for */
  constructor(workers: number, inherited: SocketsByKey = new Map()) {
    this.workers = workers;
    this.inherited = new Map(inherited);
  }

  get ports(): readonly PortView[] {
    return [...this.byKey].map(([key, sockets]) => ({ key, port: sockets[0]?.port ?? 0 }));
  }

  get all(): SocketsByKey {
    return this.byKey;
  }

  /**
   * Binds the ports that a model has and the present one has not.
   * @returns their keys
   * @throws Error saying which port cannot be bound, unless it is optional; none of them is bound then
   */
  open(model: Model): readonly string[] {
    const opened: string[] = [];
    this.failed.clear();
    try {
      for (const [index, bind] of model.binds.entries()) {
        const key = bindKey(bind, index);
        // For datagrams each worker has a socket of its own.
        if (this.byKey.has(key) || !acceptsConnections(bind)) continue;
        const sockets = this.bindUnlessOptional(key, bind);
        if (sockets === undefined) continue;
        this.byKey.set(key, sockets);
        opened.push(key);
      }
    } catch (error) {
      this.close(opened);
      throw error;
    }
    closeAll(this.inherited.values());
    this.inherited.clear();
    return opened;
  }

  /** The model that was opened last, with a mark on the ports that could not be bound. */
  marked(model: Model): Model {
    if (this.failed.size === 0) return model;
    const binds = model.binds.map((bind, index): Bind => {
      const closed = this.failed.get(bindKey(bind, index));
      return closed === undefined ? bind : { ...bind, closed };
    });
    return { ...model, binds };
  }

  /** Closes the ports that a model does not have. */
  keepOnly(model: Model): void {
    const wanted = new Set(
      model.binds.flatMap((bind, index) => (acceptsConnections(bind) ? [bindKey(bind, index)] : [])),
    );
    this.close([...this.byKey.keys()].filter((key) => !wanted.has(key)));
  }

  /**
   * The sockets of a worker; workers count from 1. Where there are more sockets than workers, since there were
   * more workers in the program before, some have several: a socket on which nobody accepts would get its share
   * of the connections still.
   */
  *of(worker: number, keys: Iterable<string> = this.byKey.keys()): Iterable<readonly [string, SocketHandle]> {
    for (const key of keys)
      for (const [index, { handle }] of (this.byKey.get(key) ?? []).entries())
        if (index % this.workers === worker - 1) yield [key, handle];
  }

  /** The given ones, or all. */
  close(keys?: Iterable<string>): void {
    for (const key of keys ?? [...this.byKey.keys()]) {
      closeAll([this.byKey.get(key) ?? []]);
      this.byKey.delete(key);
    }
    if (keys !== undefined) return;
    closeAll(this.inherited.values());
    this.inherited.clear();
  }

  /** @returns undefined where the model can do without the port */
  private bindUnlessOptional(key: string, bind: Bind): readonly PortSocket[] | undefined {
    try {
      return this.bind(key, bind);
    } catch (error) {
      if (bind.optional !== true) throw error;
      this.failed.set(key, messageOf(error));
      return undefined;
    }
  }

  private bind(key: string, { port, address }: Bind): readonly PortSocket[] {
    const inherited = this.inherited.get(key) ?? [];
    this.inherited.delete(key);
    const [first] = inherited;
    if (first === undefined) return bindPort(port, address, this.workers, false, this.ports);
    const missing = Math.max(0, this.workers - inherited.length);
    try {
      return [...inherited, ...bindPort(first.port, address, missing, true)];
    } catch (error) {
      closeAll([inherited]);
      throw error;
    }
  }
}

function closeAll(sockets: Iterable<readonly PortSocket[]>): void {
  for (const each of sockets) for (const { handle } of each) handle.close();
}
