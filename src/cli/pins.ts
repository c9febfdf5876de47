import type { Command } from './command.ts';
import { configurationFlags } from './givenConfiguration.ts';

export const pins: Command = {
  summary: 'show changed definitions of MCP tools and prompts, and approve or reject them',
  usage: '[list | approve [NAME] | reject [NAME]]',
  flags: {
    ...configurationFlags,
    folder: {
      type: 'string',
      value: 'FOLDER',
      help: 'folder of the pins, instead of the place in the configuration',
      once: true,
    },
    target: { type: 'string', value: 'NAME', help: 'only items of this target', once: true },
    all: { type: 'boolean', help: 'approve or reject every changed item' },
  },
  positionals: 2,
  async run(flags, positionals, terminal) {
    // Loaded here, so that the command line starts without the store.
    const { decidePins } = await import('./decidePins.ts');
    return await decidePins(flags, positionals, terminal);
  },
};
