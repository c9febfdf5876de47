import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { readBody } from './body.ts';
import type { Settings } from './config.ts';
import { errors } from './engine.ts';
import { errorPage, loginPage, pageHeaders } from './pages.ts';

/** Shows the login page (GET) or acts on it (POST), for the interaction that the browser's cookie names. */
export async function handleLogin(
  provider: Provider,
  settings: Settings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let interaction;
  try {
    interaction = await provider.interactionDetails(request, response);
  } catch (error) {
    if (!(error instanceof errors.SessionNotFound)) throw error;
    return send(
      response,
      400,
      errorPage('session_not_found', 'This login is over. Start again from the application.'),
    );
  }
  const { params } = interaction;
  const client = await provider.Client.find(String(params['client_id']));
  const show = (status: number, error?: string): void =>
    send(
      response,
      status,
      loginPage({
        client: client?.clientName ?? String(params['client_id']),
        redirectUri: String(params['redirect_uri']),
        scope: typeof params['scope'] === 'string' ? params['scope'] : '',
        users: settings.users,
        ...(error && { error }),
      }),
    );
  if (request.method !== 'POST') return show(200);

  const form = new URLSearchParams(await readBody(request));
  if (form.has('cancel')) {
    const refusal = { error: 'access_denied', error_description: 'the user cancelled' };
    return provider.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false });
  }
  const user = settings.users.find(({ name }) => name === form.get('user'));
  if (!user || (user.password !== undefined && !isEqual(form.get('password') ?? '', user.password))) {
    return show(401, 'Wrong user name or password.');
  }
  const result = { login: { accountId: user.name, remember: false }, consent: {} };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, pageHeaders).end(html);
}

/** Compares in constant time, whatever the lengths. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
