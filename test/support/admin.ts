export { type Address, withAdmin } from '../../libs/testing/src/servers/admin';
