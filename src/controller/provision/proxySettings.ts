import { auditEntries, auditFolder } from '../../model/index.ts';
import type { NeededSecret } from '../translate/index.ts';
import type { ChosenParameters } from './parameters.ts';

/** Part of a pod. */
export interface PodPart {
  readonly args: readonly string[];
  readonly mounts: readonly object[];
  readonly volumes: readonly object[];
}

const secretsFolder = '/var/run/secrets/portcullis.dev';

/** A Secret as a folder of files, one for each entry. */
export const mountedSecret = (name: string, secretName: string, flag: string): PodPart => ({
  args: [`--${flag}=${secretsFolder}/${name}`],
  mounts: [{ name, mountPath: `${secretsFolder}/${name}`, readOnly: true }],
  volumes: [{ name, secret: { secretName, defaultMode: 0o440 } }],
});

type Audit = NonNullable<ChosenParameters['audit']>;

/** The parts of a pod for the audit stream, the traces and the access log of its proxy. */
export function proxySettings({ audit, tracing, logging }: ChosenParameters): readonly PodPart[] {
  const { secretName: spanHeaders, ...spans } = tracing ?? {};
  const { secretName: recordHeaders, ...records } = logging?.otlp ?? {};
  const config = {
    ...(audit && { audit: asConfigured(audit) }),
    ...(tracing && { tracing: spans }),
    ...(logging && { logging: { ...logging, ...(logging.otlp && { otlp: records }) } }),
  };
  if (Object.keys(config).length === 0) return [];
  const secrets = [
    ['audit', audit?.secretName, 'audit-files'],
    ['tracing', spanHeaders, 'tracing-headers'],
    ['log-export', recordHeaders, 'log-headers'],
  ] as const;
  return [
    { args: [`--settings=${argument(config)}`], mounts: [], volumes: [] },
    ...secrets.flatMap(([name, secretName, flag]) =>
      secretName === undefined ? [] : [mountedSecret(name, secretName, flag)],
    ),
    ...(audit?.volume === undefined ? [] : [auditVolume(audit.volume)]),
  ];
}

/** As `config.audit` has it. The proxy adds the files of the Secret. */
function asConfigured({ secretName: _secret, volume: _volume, sink, ...rest }: Audit): object {
  return { ...rest, sink: sink.stdout === undefined ? sink : 'stdout' };
}

/** Kubernetes replaces `$(NAME)` in arguments. */
const argument = (value: object): string => JSON.stringify(value).replaceAll('$', String.raw`\u0024`);

const podName = 'POD_NAME';

function auditVolume({ emptyDir, persistentVolumeClaim }: NonNullable<Audit['volume']>): PodPart {
  const name = 'audit-lines';
  const mount = { name, mountPath: auditFolder };
  if (persistentVolumeClaim === undefined)
    return { args: [], mounts: [mount], volumes: [{ name, emptyDir: emptyDir ?? {} }] };
  return {
    args: [],
    // Two gateways must not write one file.
    mounts: [{ ...mount, subPathExpr: `$(${podName})` }],
    volumes: [{ name, persistentVolumeClaim }],
  };
}

/**
 * The Secrets that the settings need, by field. A field without a Secret is there, too: the parameters of a Gateway replace
 * those of its class field by field.
 */
export function neededSecrets({
  store,
  audit,
  tracing,
  logging,
}: Pick<ChosenParameters, 'store' | 'audit' | 'tracing' | 'logging'>): Readonly<
  Record<string, NeededSecret | null>
> {
  const needed = (secretName: string | undefined, ...entries: string[]): NeededSecret | null =>
    secretName === undefined ? null : { secretName, entries };
  return {
    ...(store && { 'store.redis': needed(store.redis.secretName) }),
    ...(audit && {
      audit: needed(audit.secretName, ...(audit.chain === undefined ? [] : [auditEntries.chainKey])),
    }),
    ...(tracing && { tracing: needed(tracing.secretName) }),
    ...(logging && { 'logging.otlp': needed(logging.otlp?.secretName) }),
  };
}
