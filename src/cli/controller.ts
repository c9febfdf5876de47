import type { parseListenAddress } from '../config/index.ts';
import type { ControllerSettings } from '../controllerMain.ts';
import { messageOf } from '../errorText.ts';
import { logLevels } from '../model/index.ts';
import { UsageError, type Command, type Flags } from './command.ts';
import { exitCode } from './exitCode.ts';
import { Stopping } from './stopping.ts';
import { version } from '../version.ts';

const formats = ['text', 'json'] as const;
const pullPolicies = ['Always', 'IfNotPresent', 'Never'] as const;

export const controller: Command = {
  summary: 'run the Gateway API controller of a Kubernetes cluster, which creates and configures the proxies',
  usage: '[--kubeconfig FILE] [--namespace NAME]',
  flags: {
    kubeconfig: {
      type: 'string',
      value: 'FILE',
      help: 'kubeconfig of the cluster (KUBECONFIG, ~/.kube/config, or the service account of the pod)',
    },
    context: { type: 'string', value: 'NAME', help: 'context of the kubeconfig' },
    namespace: {
      type: 'string',
      value: 'NAME',
      help: 'namespace of the lease (the namespace of the pod or of the context)',
    },
    'watch-namespaces': {
      type: 'string',
      value: 'A,B',
      help: 'watch the objects of these namespaces only',
    },
    'controller-name': {
      type: 'string',
      value: 'NAME',
      help: 'controllerName of the GatewayClasses to handle (portcullis.dev/gateway)',
    },
    models: {
      type: 'string',
      value: 'ADDRESS',
      help: 'port on which proxies get their configuration ([::]:15010), or off',
    },
    service: {
      type: 'string',
      value: 'NAME',
      help: 'Service in the same namespace by which proxies reach the controller (portcullis-controller)',
    },
    'models-cert': {
      type: 'string',
      value: 'FILE',
      help: 'server certificate for proxies, instead of a generated one; needs the next two flags',
    },
    'models-key': { type: 'string', value: 'FILE', help: 'private key of that certificate' },
    'models-ca': {
      type: 'string',
      value: 'FILE',
      help: 'CA certificates with which proxies verify that certificate',
    },
    'proxy-image': {
      type: 'string',
      value: 'IMAGE',
      help: 'create a Deployment, a Service and related objects for each Gateway, with this image',
    },
    'proxy-image-pull-policy': { type: 'string', value: 'POLICY', help: `${pullPolicies.join(', ')}` },
    'log-level': { type: 'string', value: 'LEVEL', help: `${logLevels.join(', ')}` },
    'log-format': { type: 'string', value: 'FORMAT', help: `${formats.join(', ')}` },
    admin: { type: 'string', value: 'ADDRESS', help: 'admin port (127.0.0.1:15000), or off' },
    stats: { type: 'string', value: 'ADDRESS', help: 'metrics port ([::]:15020), or off' },
    readiness: { type: 'string', value: 'ADDRESS', help: 'port for probes ([::]:15021), or off' },
  },
  positionals: 0,
  async run(flags, _positionals, terminal) {
    // Loaded here, so that the other commands start without it.
    const { parseListenAddress } = await import('../config/index.ts');
    const address = (name: string) => addressIn(flags, name, parseListenAddress);
    const options = {
      version: version(),
      kubeconfig: text(flags, 'kubeconfig'),
      context: text(flags, 'context'),
      namespace: text(flags, 'namespace'),
      watchNamespaces: text(flags, 'watch-namespaces')
        ?.split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
      controllerName: text(flags, 'controller-name'),
      models: address('models'),
      service: text(flags, 'service'),
      certificate: certificateFiles(flags),
      proxyImage: text(flags, 'proxy-image'),
      proxyImagePullPolicy: oneOf(flags, 'proxy-image-pull-policy', pullPolicies),
      logLevel: oneOf(flags, 'log-level', logLevels),
      logFormat: oneOf(flags, 'log-format', formats),
      admin: address('admin'),
      stats: address('stats'),
      readiness: address('readiness'),
    };
    if (options.models?.kind === 'unix') throw new UsageError('--models: expected ip:port, [::]:port or off');
    if (options.watchNamespaces?.length === 0)
      throw new UsageError('--watch-namespaces: expected at least one namespace');
    const { startController } = await import('../controllerMain.ts');
    const stopping = new Stopping(terminal);
    try {
      const running = await startController(options);
      stopping.started(running);
      await running.closed;
      return exitCode.ok;
    } catch (error) {
      terminal.err(`portcullis: ${messageOf(error)}\n`);
      return exitCode.failed;
    } finally {
      stopping.release();
    }
  },
};

function certificateFiles(flags: Flags): ControllerSettings['certificate'] {
  const [cert, key, ca] = ['models-cert', 'models-key', 'models-ca'].map((name) => text(flags, name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined || ca === undefined)
    throw new UsageError('--models-cert, --models-key and --models-ca must be given together');
  return { cert, key, ca };
}

function text(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  if (value === '') throw new UsageError(`--${name}: expected a value, got an empty text`);
  return typeof value === 'string' ? value : undefined;
}

function oneOf<Value extends string>(
  flags: Flags,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const given = text(flags, name);
  const value = values.find((one) => one === given);
  if (given !== undefined && value === undefined)
    throw new UsageError(`--${name}: expected one of ${values.join(', ')}`);
  return value;
}

/** @throws UsageError */
function addressIn(
  flags: Flags,
  name: string,
  parse: typeof parseListenAddress,
): ReturnType<typeof parseListenAddress> {
  const given = text(flags, name);
  if (given === undefined) return undefined;
  const parsed = parse(given);
  if (parsed === undefined)
    throw new UsageError(`--${name}: expected off, ip:port, localhost:port, [::]:port or unix:/path`);
  return parsed;
}
