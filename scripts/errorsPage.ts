import { format } from 'prettier';
import { catalogue, type CatalogueEntry } from '../src/errors.ts';

const intro = `# Error codes

Every failure that the gateway reports has one of these codes. The access log (\`error\`), the metric
\`portcullis_errors_total\` and the log have the code. The client sees the status and the message, never the detail.

- *Source* is the cause: \`client\` is the request, \`gateway\` is this program or its configuration, \`upstream\` is the
  backend.
- *Retry* says whether the caller may send the same request again: \`no\`, \`later\`, or \`now\` (at once).
- *JSON-RPC* is the code of the error if it can end an MCP call.

\`npm run generate\` makes this page from \`src/errors.ts\`.
`;

const row = (code: string, entry: CatalogueEntry): string =>
  `| \`${code}\` | ${String(entry.status)} | ${entry.jsonrpc === undefined ? '–' : String(entry.jsonrpc)} | ${entry.source} | ${entry.retry} | ${entry.message} | ${entry.help} |`;

/** The text of docs/errors.md. */
export const errorsPage = async (): Promise<string> => {
  const rows = Object.entries(catalogue).map(([code, entry]) => row(code, entry));
  const head =
    '| code | status | JSON-RPC | source | retry | message | meaning |\n| - | - | - | - | - | - | - |';
  return await format(`${intro}\n${head}\n${rows.join('\n')}\n`, { parser: 'markdown', printWidth: 110 });
};
