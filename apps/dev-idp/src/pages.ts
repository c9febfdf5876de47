import type { Settings } from './config.ts';

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:12vh auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.3rem}button,input{font:inherit;padding:.5rem .8rem;width:100%;box-sizing:border-box;margin:.25rem 0}
small{color:#666}.error{color:#a00}`;

/** Headers of every page: nothing but its own style may load, and it cannot be framed (clickjacking). */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
};

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title><style>${style}</style></head><body><h1>${escape(title)}</h1>${body}</body></html>\n`;
}

export interface LoginPage {
  readonly client: string;
  readonly redirectUri: string;
  readonly scope: string;
  readonly users: Settings['users'];
  /** The reason why the last try failed. */
  readonly error?: string;
}

/** The login page: a button per user without password, fields where there are users with one. */
export function loginPage({ client, redirectUri, scope, users, error }: LoginPage): string {
  const open = users.filter(({ password }) => password === undefined);
  const guarded = users.length > open.length;
  const buttons = open.map(({ name, groups }) => {
    const note = groups.length > 0 ? ` <small>${escape(groups.join(', '))}</small>` : '';
    return `<button name="user" value="${escape(name)}">${escape(name)}${note}</button>`;
  });
  const choose = open.length > 0 ? `<form method="post"><p>Log in as</p>${buttons.join('\n')}</form>` : '';
  const fields = guarded
    ? `<form method="post"><p>${open.length > 0 ? 'or with a password' : 'Log in'}</p>
<input name="user" placeholder="user name" autocomplete="username" required>
<input name="password" type="password" placeholder="password" autocomplete="current-password" required>
<button>Log in</button></form>`
    : '';
  return page(
    'Log in',
    `<p><b>${escape(client)}</b> asks for <b>${escape(scope || 'no scope')}</b> and gets the answer at <b>${escape(redirectUri)}</b>.</p>
${error ? `<p class="error">${escape(error)}</p>` : ''}${choose}${fields}
${users.length === 0 ? '<p class="error">No users are configured.</p>' : ''}
<form method="post"><button name="cancel" value="yes">Cancel</button></form>`,
  );
}

export function errorPage(error: string, description: string | undefined): string {
  return page(
    'This request cannot be answered',
    `<p><b>${escape(error)}</b></p><p>${escape(description ?? '')}</p>`,
  );
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
