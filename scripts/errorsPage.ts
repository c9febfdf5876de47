import { format } from 'prettier';
import { catalogue, type CatalogueEntry } from '../src/errors.ts';

const intro = `# What can go wrong

Every failure the gateway reports has one of these codes. The code stands in the access log (\`error\`), in the
metric \`portcullis_errors_total\` and in the log; the client sees the status and the message, never the detail.

*Who* says where to look: \`client\` is the request, \`gateway\` is this program or its configuration, \`upstream\`
is the backend. *Again* says whether the caller may retry: not with the same request, later, or at once. A JSON-RPC
code is given where the failure can end an MCP call.

This page is made from \`src/errors.ts\` by \`npm run generate\`.
`;

const row = (code: string, entry: CatalogueEntry): string =>
  `| \`${code}\` | ${String(entry.status)} | ${entry.jsonrpc === undefined ? '–' : String(entry.jsonrpc)} | ${entry.source} | ${entry.retry} | ${entry.message} | ${entry.help} |`;

/** The text of docs/errors.md. */
export const errorsPage = async (): Promise<string> => {
  const rows = Object.entries(catalogue).map(([code, entry]) => row(code, entry));
  const head =
    '| code | status | JSON-RPC | who | again | message | meaning |\n| - | - | - | - | - | - | - |';
  return await format(`${intro}\n${head}\n${rows.join('\n')}\n`, { parser: 'markdown', printWidth: 110 });
};
