/** The name of the cookie that binds a login at the gateway to the browser that saw the consent page. */
export const loginCookie = 'portcullis-login';
