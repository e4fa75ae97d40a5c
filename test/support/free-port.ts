export { freePort } from '../../libs/testing/src/servers/free-port';
