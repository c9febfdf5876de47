/** The messages every client of the benchmark sends, over whatever transport. */
export const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'portcullis-bench', version: '1.0.0' },
  },
};

export const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

export const modernVersion = '2026-07-28';

/** Every request of the modern era carries this. */
const meta = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': initialize.params.clientInfo,
};

export type ClientEra = 'legacy' | 'modern';

const filling = 'a sentence of the usual length, as a model would send it to a tool '.repeat(2);

export function requestOf(id: number, method: string, params: object, era: ClientEra = 'legacy'): string {
  const whole = era === 'legacy' ? params : { ...params, _meta: meta };
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: whole });
}

export const callParams = (id: number, client: number, tool: string): object => ({
  name: tool,
  arguments: { message: `${client}/${id} ${filling}` },
});

/** @throws Error unless the message answers that call of that client. */
export function checkAnswer(text: string, id: number, client: number): void {
  const message = JSON.parse(text) as { id?: unknown; result?: { content?: { text?: string }[] } };
  if (message.id !== id || message.result?.content?.[0]?.text !== `Echo: ${client}/${id} ${filling}`) {
    throw new Error(`wrong answer to call ${id} of client ${client}: ${text.slice(0, 500)}`);
  }
}

/** Compares lists with the first one: reading 50 KB would take the load generator longer than the gateway. */
export class ListCheck {
  readonly #tools: number;
  #first: string | undefined;

  constructor(tools: number) {
    this.#tools = tools;
  }

  /** @throws Error unless the message answers the request with a list of so many tools. */
  check(text: string, id: number): void {
    const own = text.replace(`"id":${id}`, '"id":0');
    if (this.#first === undefined) {
      const { result } = JSON.parse(text) as { result?: { tools?: unknown[] } };
      if (result?.tools?.length !== this.#tools) throw new Error(`wrong list: ${text.slice(0, 500)}`);
      this.#first = own;
    }
    if (own !== this.#first) throw new Error(`another list to request ${id}: ${text.slice(0, 500)}`);
  }
}
