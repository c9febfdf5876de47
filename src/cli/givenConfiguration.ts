import { UsageError, type Flag, type Flags } from './command.ts';

/** Name that problems of a configuration from the command line carry. */
export const inlineName = '<inline>';

export const configurationFlags: Readonly<Record<string, Flag>> = {
  file: { type: 'string', short: 'f', value: 'FILE', help: 'configuration file (YAML)', once: true },
  config: {
    type: 'string',
    short: 'c',
    value: 'YAML',
    help: 'configuration as text, instead of a file',
    once: true,
  },
  'env-file': {
    type: 'string',
    value: 'FILE',
    help: 'take variables of the configuration from this file, too (KEY=VALUE lines)',
    once: true,
  },
};

export type Given = { readonly file: string } | { readonly text: string };

/** The one configuration that the command line names. */
export function givenConfiguration(flags: Flags, positionals: readonly string[]): Given {
  const { file, config } = flags;
  const given: Given[] = [
    ...(typeof file === 'string' ? [{ file }] : []),
    ...(typeof config === 'string' ? [{ text: config }] : []),
    ...positionals.map((name) => ({ file: name })),
  ];
  const [first, second] = given;
  if (first === undefined) throw new UsageError('no configuration given; use -f config.yaml');
  if (second !== undefined) throw new UsageError('more than one configuration given; expected one');
  return first;
}
