import type { AdminAccess } from './adminAccess.ts';
import type { Page } from '../page.ts';
import { sessionCookie } from './cookie.ts';

/** The path of the console. */
export const consolePath = '/ui/';

/** The page of a one-time link: it exchanges the code for a cookie. */
export const loginPages = ({ links, sessions }: AdminAccess, port: () => number): readonly Page[] => [
  {
    method: 'GET',
    path: `${consolePath}login`,
    about: 'exchanges the code of a one-time link, as `portcullis console` prints it, for a session',
    access: 'login',
    answer: ({ method, query }) => {
      // A program that looks at a link before its user does must not use it up.
      const role = method === 'GET' ? links.take(query.get('code') ?? '') : undefined;
      if (role === undefined) return redirect(`${consolePath}?login=refused`);
      return redirect(consolePath, { 'set-cookie': sessionCookie(sessions.begin(role), port()) });
    },
  },
];

const redirect = (location: string, headers: Readonly<Record<string, string>> = {}) => ({
  status: 303,
  body: '',
  headers: { location, 'referrer-policy': 'no-referrer', ...headers },
});
