import { defaults, joinEndpoints, type Model } from '../../../src/model/index.ts';
import type { EndpointTable } from '../../../src/controller/translate/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { ServingProcess } from '../../../src/workers/index.ts';

/** Serves one Gateway at an address of its own, in this process. */
export class LocalProxy {
  readonly address: string;
  readonly #key: string;
  readonly #serving: ServingProcess;
  readonly #log = createLogger({ level: 'info', format: 'text' });
  readonly #onServes: () => void;
  #serves = false;
  #model: Model | undefined;
  #endpoints: EndpointTable = new Map();
  /** The text of the model that was taken last. */
  #taken = '';
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  /** @param onServes its first model is in use */
  constructor(key: string, address: string, onServes: () => void) {
    this.#key = key;
    this.address = address;
    this.#onServes = onServes;
    this.#serving = new ServingProcess({
      log: this.#log,
      metrics: createMetrics({ process: false }),
      fixed: defaults.fixed,
      secrets: { variables: [], values: [] },
    });
  }

  get serves(): boolean {
    return this.#serves;
  }

  use(model: Model, endpoints: EndpointTable): void {
    this.#model = { ...model, binds: model.binds.map((bind) => ({ ...bind, address: this.address })) };
    this.#endpoints = endpoints;
    this.#running = this.#running.then(() => this.#take());
  }

  useAddresses(endpoints: EndpointTable): void {
    this.#endpoints = endpoints;
    this.#running = this.#running.then(async () => {
      if (this.#model !== undefined && !this.#closed)
        await this.#serving.useAddresses(this.#model, this.#endpoints);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    await this.#serving.close(0);
  }

  /** Never rejects. */
  async #take(): Promise<void> {
    const model = this.#model;
    if (model === undefined || this.#closed) return;
    const text = JSON.stringify(model);
    try {
      if (text === this.#taken) {
        await this.#serving.useAddresses(model, this.#endpoints);
        return;
      }
      await this.#serving.apply(joinEndpoints(model, this.#endpoints));
      this.#taken = text;
    } catch (error) {
      this.#log.error('a model is refused', { gateway: this.#key, reason: String(error) });
      return;
    }
    if (this.#serves) return;
    this.#serves = true;
    this.#onServes();
  }
}
