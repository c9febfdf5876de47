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

const filling = 'a sentence of the usual length, as a model would send it to a tool '.repeat(2);

export const callOf = (id: number, client: number, tool = 'echo'): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: tool, arguments: { message: `${client}/${id} ${filling}` } },
  });

/** @throws Error unless the message answers that call of that client. */
export function checkAnswer(text: string, id: number, client: number): void {
  const message = JSON.parse(text) as { id?: unknown; result?: { content?: { text?: string }[] } };
  if (message.id !== id || message.result?.content?.[0]?.text !== `Echo: ${client}/${id} ${filling}`) {
    throw new Error(`wrong answer to call ${id} of client ${client}: ${text.slice(0, 500)}`);
  }
}
