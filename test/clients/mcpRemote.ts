import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { join } from 'node:path';
import type { ClientRow } from './client.ts';
import { fetchPackage } from './npm.ts';
import { takeSteps } from './typescript.ts';

/** `mcp-remote` is a stdio server for a local client, and a client of the gateway. @param home gets its files */
export const mcpRemote = (home: string): ClientRow => {
  const folder = fetchPackage('mcp-remote');
  return {
    name: 'mcp-remote',
    async visit(wanted) {
      const client = new Client({ name: 'clients', version: '1.0.0' });
      const header = ['--header', `Authorization: Bearer ${wanted.token}`];
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(folder, 'dist/proxy.js'), wanted.url, '--allow-http', ...header],
        env: { PATH: process.env['PATH'] ?? '', HOME: home },
        stderr: 'ignore',
      });
      try {
        await client.connect(transport);
        return await takeSteps(client, wanted);
      } finally {
        await client.close();
      }
    },
  };
};
