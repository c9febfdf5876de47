import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { KeyRing, SigningKey } from './keyRing.ts';
import { buildProvider, type ProviderParts } from './provider.ts';

interface Options {
  readonly parts: Omit<ProviderParts, 'keys'>;
  readonly ring: KeyRing;
  readonly log?: ((line: string) => void) | undefined;
}

interface Running {
  readonly engine: Provider;
  readonly handle: ReturnType<Provider['callback']>;
}

type Refusal = Error & { error_detail?: string | undefined; error_description?: string | undefined };

/**
 * Answers the provider for the keys of the moment. The engine takes its keys once, so a rotation, or an old key
 * whose time is over, means a new engine on the same store; requests under way finish on the one they began with.
 */
export function providerSwitch({ parts, ring, log }: Options): () => Running {
  let running: (Running & { keys: readonly SigningKey[] }) | undefined;
  return () => {
    const { keys } = ring;
    if (running?.keys === keys) return running;
    const engine = buildProvider({ ...parts, keys });
    engine.proxy = true;
    // Koa would print failures with their stack; here they are told to the log, and only the reason.
    engine.silent = true;
    const refused = (ctx: KoaContextWithOIDC, error: Refusal): void =>
      log?.(
        `refused ${ctx.path}: ${error.message} (${error.error_detail ?? error.error_description ?? 'no detail'})`,
      );
    engine.on('grant.error', refused);
    engine.on('authorization.error', refused);
    engine.on('registration_create.error', refused);
    engine.on('server_error', refused);
    running = { keys, engine, handle: engine.callback() };
    return running;
  };
}
