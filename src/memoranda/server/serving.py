"""A whole server: its stores, its control store, the dispatcher, and the ports it listens on."""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput
from memoranda.model.clock import SystemClock
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.grpc.limits import GrpcLimits
from memoranda.server.grpc.server import GrpcServer, Service, address_of
from memoranda.server.http.app import HttpApp
from memoranda.server.http.guard import Guard
from memoranda.server.http.server import HttpServer
from memoranda.server.http.settings import HttpSettings
from memoranda.server.http.system import Probes
from memoranda.server.jobs.history import JobHistory
from memoranda.server.jobs.scheduler import Scheduler
from memoranda.server.jobs.settings import JobSettings
from memoranda.server.jobs.work import Place, scheduled_jobs
from memoranda.server.mcp_delegate import MCP, McpDelegate
from memoranda.server.metering import Meter
from memoranda.server.metrics import SURFACES, ServerMetrics
from memoranda.server.readiness import Readiness
from memoranda.server.statehouse.callers import Callers
from memoranda.server.statehouse.service import SERVICE as STATEHOUSE
from memoranda.server.statehouse.service import StatehouseService
from memoranda.server.stores import StoreOptions, StoreSet
from memoranda.server.tls import TlsFiles
from memoranda.server.token_limits import CallLimits
from memoranda.server.traffic import Traffic
from memoranda.storage.postgres.database_url import parse_database
from memoranda.storage.server_url import DEFAULT_PORT
from memoranda.storage.store_url import Url

HOST = "127.0.0.1"
_PLACES = 3
"""Settings with the location of the stores; exactly one of them is given."""
DRAIN_SECONDS = 10.0
"""Time that calls in flight have to end when the server shuts down."""


def is_loopback(host: str) -> bool:
    """Say whether only programs of this machine can connect to a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a server: stores, addresses and callers."""

    folder: Path | None = None
    """A folder of stores; else `file`."""
    file: Path | None = None
    """The only store."""
    database: str | None = None
    """The URL of a PostgreSQL database of stores; with `?store=name`, of the only store."""
    host: str = HOST
    port: int = DEFAULT_PORT
    """0: a free one."""
    tls: TlsFiles | None = None
    tokens: bool | None = None
    """Whether callers need tokens. None: as soon as there are any, and always where others than
    programs of this machine can connect."""
    insecure: bool = False
    """Whether others may connect without TLS, or without tokens."""
    statehouse_store: str | None = None
    """The store that clients of Statehouse reach; None: the only one, or none in a folder."""
    statehouse_anywhere: bool = False
    """Whether clients of Statehouse without a token are served from other machines too."""
    http: HttpSettings | None = None
    """Where to listen for HTTP; None: nowhere."""
    stores: StoreOptions = StoreOptions()
    limits: GrpcLimits = GrpcLimits()
    call_limits: CallLimits = CallLimits()
    """The limits of tokens that have none of their own."""
    jobs: JobSettings = JobSettings()
    """The scheduled jobs."""

    @property
    def serves_many(self) -> bool:
        """Whether calls name one of several stores."""
        if self.database is not None:
            return not parse_database("stores", self.database).store
        return self.folder is not None

    @property
    def place(self) -> str:
        """The folder, the file or the database, for people: without a password."""
        if self.database is not None:
            return parse_database("stores", self.database).name
        return str(self.folder or self.file)

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can connect."""
        return self._public_host is None

    @property
    def _public_host(self) -> str | None:
        """The first host at which others can connect; None: there is none."""
        hosts = (self.host, *(() if self.http is None else (self.http.host,)))
        return next((host for host in hosts if not is_loopback(host)), None)

    @property
    def asks_for_tokens(self) -> bool:
        """Whether callers need tokens, also if there are none yet."""
        return not self.is_local if self.tokens is None else self.tokens

    def check(self) -> None:
        """Refuse settings that would let others read or change data without permission."""
        if [self.folder, self.file, self.database].count(None) != _PLACES - 1:
            raise InvalidInput(
                "stores",
                "give either a folder of stores, the file of one store, or a PostgreSQL database",
            )
        host = self._public_host
        if host is None or self.insecure:
            return
        if self.tls is None:
            raise InvalidInput(
                "tls_cert",
                f"is missing: at {host}, others can connect, and tokens and content would be "
                "sent in the clear. Give a certificate and its key, or listen on 127.0.0.1; "
                "--insecure does it all the same",
            )
        if not self.asks_for_tokens:
            raise InvalidInput(
                "tokens",
                f"are not asked for: at {host}, everybody who can connect could read and "
                "change everything. Ask for tokens, or listen on 127.0.0.1; --insecure does it "
                "all the same",
            )


class Server:
    """A server that listens, from `start` to `stop`; both are called in one event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        settings.check()
        self.settings = settings
        self._grpc = GrpcServer(settings.limits, settings.stores.ids)
        self._http = None if settings.http is None else HttpServer(settings.http.limits)
        self._closing = AsyncExitStack()
        """Closes what was opened, in the opposite order."""
        self._close_turn = asyncio.Lock()
        self.port = 0
        self.http_port = 0
        self.scheduler: Scheduler | None = None
        """None: the server was not started, or has no jobs."""
        self._dispatcher: Dispatcher | None = None
        self._stores: StoreSet | None = None
        self._statehouse: StatehouseService | None = None
        self._traffic = {surface: Traffic() for surface in SURFACES}

    @property
    def address(self) -> str:
        """The host and the port that it listens on."""
        return address_of(self.settings.host, self.port)

    @property
    def http_address(self) -> str | None:
        """The host and the port for HTTP; None: there are none."""
        http = self.settings.http
        return None if http is None else address_of(http.host, self.http_port)

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher of a started server."""
        assert self._dispatcher is not None, "the server was started"
        return self._dispatcher

    @property
    def stores(self) -> StoreSet:
        """The stores of a started server."""
        assert self._stores is not None, "the server was started"
        return self._stores

    @property
    def call_count(self) -> int:
        """How many calls are being served."""
        requests = 0 if self._http is None else self._http.count
        return self._grpc.call_count + requests

    async def start(self) -> None:
        """Open the control store, and the store if there is one only, and listen."""
        settings = self.settings
        async with AsyncExitStack() as opened:
            opened.push_async_callback(self._grpc.stop, 0)
            self.port = self._grpc.bind(settings.host, settings.port, settings.tls)
            if self._http is not None and settings.http is not None:
                opened.push_async_callback(self._http.stop, 0)
                self.http_port = self._http.bind(settings.http.host, settings.http.port)
            stores = self._stores = await asyncio.to_thread(self._store_set)
            opened.push_async_callback(stores.close, 0)
            if not settings.serves_many:  # an error about another owner comes at once
                await opened.enter_async_context(stores.use(""))
            control = None
            if settings.tokens is not False or settings.jobs.scheduled:
                control = await asyncio.to_thread(self._open_control_store)
                opened.push_async_callback(asyncio.to_thread, control.close)
            self._dispatcher = Dispatcher(
                stores,
                None if settings.tokens is False else control,
                Meter(SystemClock(), settings.call_limits),
                asks_for_tokens=settings.asks_for_tokens,
            )
            if settings.jobs.scheduled:
                assert control is not None, "jobs are remembered in the control store"
                self.scheduler = self._scheduler(stores, control)
                opened.push_async_callback(self.scheduler.stop, 0)
                await self.scheduler.start()
            await self._grpc.start(
                self._surface("grpc"), self._other_services(self._surface("statehouse"))
            )
            if self._http is not None and settings.http is not None:
                mcp = McpDelegate(self._surface("mcp"), settings.http.limits)
                opened.push_async_callback(mcp.stop)
                app = self._http_app(mcp, Readiness(stores, control))
                await self._http.start(app, settings.tls)
            self._closing = opened.pop_all()

    async def stop(self, seconds: float = DRAIN_SECONDS) -> None:
        """Take no more calls, let those in flight end within some seconds, and close all stores.

        A second call shortens what the first one waits for.
        """
        stopping = [self._grpc.stop(seconds)]
        if self._http is not None:
            stopping.append(self._http.stop(seconds))
        if self.scheduler is not None:
            stopping.append(self.scheduler.stop(seconds))
        await asyncio.gather(*stopping)
        async with self._close_turn:
            await self._closing.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop(0 if error is not None else DRAIN_SECONDS)

    def _http_app(self, mcp: McpDelegate, readiness: Readiness) -> HttpApp:
        http = self.settings.http
        assert http is not None, "there is an HTTP server"
        metrics = ServerMetrics(
            self.stores,
            self._traffic,
            requests=self._requests_in_flight,
            transactions=self._open_transactions,
            scheduler=self.scheduler,
        )
        probes = Probes(readiness.check, metrics.text, are_metrics_open=http.metrics_open)
        guard = Guard(
            is_local=is_loopback(http.host), host_names=http.host_names, origins=http.origins
        )
        return HttpApp(
            self._surface("http"),
            guard=guard,
            limits=http.limits,
            probes=probes,
            delegates={MCP: mcp},
            authorization_servers=http.authorization_servers,
        )

    def _requests_in_flight(self) -> dict[str, int]:
        requests = {"grpc": self._grpc.call_count}
        if self._http is not None:
            requests["http"] = self._http.count
        return requests

    def _open_transactions(self) -> int:
        return 0 if self._statehouse is None else self._statehouse.open_transactions

    def _surface(self, name: str) -> Dispatcher:
        """Return the dispatcher of a protocol, whose calls are counted apart."""
        return self.dispatcher.for_surface(self._traffic[name])

    def _store_set(self) -> StoreSet:
        settings = self.settings
        options = replace(settings.stores, address=self.address)
        if settings.database is not None:
            return StoreSet.in_database(settings.database, options)
        if settings.folder is not None:
            return StoreSet.in_folder(settings.folder, options)
        assert settings.file is not None, "the settings were checked"
        return StoreSet.of_file(settings.file, options)

    def _open_control_store(self) -> ControlStore:
        settings = self.settings
        if settings.database is not None:
            from memoranda.server.database_catalog import control_store_url

            location: Url = control_store_url(parse_database("stores", settings.database))
        else:
            location = control_path(folder=settings.folder, file=settings.file)
        control = ControlStore(location)
        control.start()
        return control

    def _scheduler(self, stores: StoreSet, control: ControlStore) -> Scheduler:
        settings = self.settings
        scheduler = Scheduler(
            scheduled_jobs(settings.jobs),
            stores,
            JobHistory(control.store),
            Place(control.name, control.core),
            settings.stores.clock or SystemClock(),
            [stores.folder, *settings.jobs.folders],
        )
        stores.jobs_of = scheduler.statuses
        return scheduler

    def _other_services(self, dispatcher: Dispatcher) -> dict[str, Service]:
        settings = self.settings
        store = settings.statehouse_store
        if store is None and settings.serves_many:
            return {}
        callers = Callers(
            dispatcher,
            store or "",
            anywhere=settings.statehouse_anywhere,
            needs_token=settings.tokens is True,
        )
        statehouse = self._statehouse = StatehouseService(callers)
        return {STATEHOUSE: Service(statehouse.handlers(), statehouse.check_caller)}
