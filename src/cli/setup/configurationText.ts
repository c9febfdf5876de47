import { stringify } from 'yaml';
import { literal, trial, type Grant, type Setup } from './setup.ts';

/** The JSON Schema beside the configuration: editors complete and check fields by it. */
export const schemaName = 'portcullis.schema.json';

/** A rule of `mcpAuthorization` for the tools of a group, in CEL. */
function ruleFor({ group, tools }: Grant, { groupClaim, servers }: Setup): string {
  const claim = /^[A-Za-z_]\w*$/.test(groupClaim)
    ? `jwt.${groupClaim}`
    : `jwt[${JSON.stringify(groupClaim)}]`;
  const member = `${JSON.stringify(group)} in ${claim}`;
  if (tools === 'all') return member;
  const allowed = servers.flatMap(({ name }) => {
    const own = tools.filter(({ server }) => server === name).map(({ tool }) => tool);
    if (own.length === 0) return [];
    const conditions = [
      // With one server, the name of a tool says enough.
      ...(servers.length > 1 ? [`mcp.tool.target == ${JSON.stringify(name)}`] : []),
      own.includes(undefined)
        ? 'mcp.tool.name != ""'
        : `mcp.tool.name in [${own.map((tool) => JSON.stringify(tool)).join(', ')}]`,
    ];
    return [conditions.join(' && ')];
  });
  return `${member} && ${allowed.length === 1 ? (allowed[0] ?? '') : `(${allowed.map((one) => `(${one})`).join(' || ')})`}`;
}

/** A value as YAML, each line behind the same indentation. */
const block = (value: unknown, indent: number): string =>
  stringify(value, { lineWidth: 0, collectionStyle: 'any' })
    .trimEnd()
    // In quotes, a value of digits stays a text.
    .replaceAll(/: (\$\{\w+\})$/gm, ': "$1"')
    .replaceAll(/^(?=.)/gm, ' '.repeat(indent));

const scalar = (text: string): string => stringify(literal(text), { lineWidth: 0 }).trim();

/**
 * The configuration of a set-up as commented YAML. `portcullis check` accepts it if the variables of `.env` are set.
 * @param command the command that wrote it, for its first line
 */
export function configurationText(setup: Setup, command: string): string {
  const { issuer, audience, port, grants, servers } = setup;
  const forTrial =
    issuer === trial.issuer ? ' This one is `portcullis idp`, for trials on this machine.' : '';
  const rules =
    grants.length === 0
      ? `              # Every caller with a valid token may use every tool, prompt and resource. To restrict groups to tools:
              # mcpAuthorization:
              #   rules:
              #     - '"GROUP" in jwt.${setup.groupClaim} && mcp.tool.name in ["TOOL"]'
`
      : `              # A caller may use a tool if one rule is true. A rule about tools allows no prompts and resources.
              mcpAuthorization:
                rules:
${block(
  grants.map((grant) => literal(ruleFor(grant, setup))),
  18,
)}
`;
  const targets = servers.map(({ name, target }) => ({ name, ...target }));
  return `# yaml-language-server: $schema=./${schemaName}
# Written by \`${command}\`. Check it with: portcullis check FILE. The gateway reloads it when it changes.
binds:
  - port: ${String(port)}
    # Only this machine can connect. Remove the line to listen on every address, and add TLS to the listener then.
    address: 127.0.0.1
    listeners:
      - routes:
          - name: mcp
            matches:
              - path: { pathPrefix: /mcp }
            policies:
              # A caller needs a token of this issuer for this audience.${forTrial}
              mcpAuthentication:
                mode: strict
                issuer: ${scalar(issuer)}
                audiences:
                  - ${scalar(audience)}
${rules}            backends:
              - mcp:
                  # A server that is down takes its own tools away, and no others.
                  failureMode: failOpen
                  targets:
${block(targets, 20)}
`;
}

/**
 * The file of secret values, which the configuration names as variables.
 * @throws Error for a value that such a file cannot hold
 */
export function environmentText({ servers }: Pick<Setup, 'servers'>): string | undefined {
  const lines = servers.flatMap(({ secrets }) =>
    Object.entries(secrets).map(([name, value]) => {
      const quote = ["'", '"', '`'].find(
        (mark) => !value.includes(mark) && !(mark === '"' && value.includes('\\')),
      );
      if (quote === undefined) throw new Error(`${name} has quotes of every kind: set it in the environment`);
      return `${name}=${quote}${value}${quote}\n`;
    }),
  );
  if (lines.length === 0) return undefined;
  return `# Secrets of the MCP servers. Start the gateway with --env-file FILE, and keep this file out of version control.\n${lines.join('')}`;
}
