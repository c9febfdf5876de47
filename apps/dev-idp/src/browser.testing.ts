/** A browser as far as a login needs one: it keeps cookies by path, follows redirects to one origin, sends forms. */
export interface Browser {
  get(url: string): Promise<Visit>;
  post(url: string, form: Record<string, string>): Promise<Visit>;
}

export interface Visit {
  readonly url: string;
  readonly status: number;
  readonly body: string;
  readonly headers: Headers;
}

/** `home` is the one origin that is really asked; a redirect elsewhere ends the visit with that URL. */
export function openBrowser(home: string): Browser {
  const cookies = new Map<string, { value: string; path: string }>();

  async function visit(url: string, init: RequestInit = {}, hops = 0): Promise<Visit> {
    const { pathname } = new URL(url);
    const cookie = [...cookies]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { cookie, accept: 'text/html' },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const at = pair.indexOf('=');
      const path =
        attributes.find((attribute) => attribute.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
      if (pair.length === at + 1) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), { value: pair.slice(at + 1), path });
    }
    const location = response.headers.get('location');
    if (location === null) {
      return { url, status: response.status, body: await response.text(), headers: response.headers };
    }
    const next = new URL(location, url);
    if (next.origin !== home || hops > 10) {
      return { url: next.href, status: response.status, body: '', headers: response.headers };
    }
    return visit(next.href, {}, hops + 1);
  }

  return {
    get: (url) => visit(url),
    post: (url, form) => visit(url, { method: 'POST', body: new URLSearchParams(form) }),
  };
}
