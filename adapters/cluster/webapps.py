"""The web applications of a broker's admin API, which later brokers reuse.

When a broker starts, it registers hundreds of request handlers with Jersey, which takes six times
as long as the rest of the start. Jersey's result is the same for every broker, because an
application knows its broker only through its servlet context.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java, class_exists, field, java_class

SERVLET = "org.glassfish.jersey.servlet.ServletContainer"
CONSUMER = "java.util.function.Consumer"
STARTS, ENDS = "conformanceStarts", "conformanceEnds"
"""Names of fields, added to the servlet, with the listeners for its start and its end."""


def reuse_webapps() -> None:
    """Make brokers that start from now on reuse the web applications of earlier brokers.

    Call this once, before any broker is started.
    """
    if not class_exists("javassist.ClassPool"):
        return  # In builds without Jersey's servlet, brokers start as usual.
    apps, servlet = WebApps(), _patched_servlet()
    field(servlet, STARTS).set(None, _Callback(apps.lend))
    field(servlet, ENDS).set(None, _Callback(apps.take_back))


def _patched_servlet() -> Java:
    """Patch Jersey's servlet: it creates no application at its start and destroys none at
    its end.
    """
    loader = java_class("java.lang.ClassLoader").getSystemClassLoader()
    classes = java_class("javassist.ClassPool")()
    classes.appendClassPath(java_class("javassist.LoaderClassPath")(loader))
    servlet = classes.get(SERVLET)
    for name in (STARTS, ENDS):
        declared = f"public static {CONSUMER} {name};"
        servlet.addField(java_class("javassist.CtField").make(declared, servlet))
    nothing = jpype.JArray(java_class("javassist.CtClass"))(0)
    servlet.getDeclaredMethod("init", nothing).setBody(f"{{ {STARTS}.accept($0); }}")
    servlet.getDeclaredMethod("destroy", nothing).setBody(f"{{ {ENDS}.accept($0); }}")
    servlet.toClass(loader, None)
    return java_class(SERVLET)


class WebApps:
    """The web applications that no broker uses at present, for new brokers."""

    def __init__(self) -> None:
        self._free: dict[str, list[WebApp]] = defaultdict(list)
        self._lent: dict[Java, tuple[str, WebApp]] = {}

    def lend(self, servlet: Java) -> None:
        """Give a starting servlet a free application for its path, or a new application."""
        path = str(servlet.getServletContext().getContextPath())
        free = self._free[path]
        app = free.pop() if free else WebApp(servlet)
        app.serve(servlet)
        self._lent[servlet] = (path, app)

    def take_back(self, servlet: Java) -> None:
        """Take back the application of a stopping servlet; no request uses it any more."""
        path, app = self._lent.pop(servlet)
        self._free[path].append(app)


class WebApp:
    """Jersey's application for a path, and the broker that uses it at present."""

    def __init__(self, servlet: Java) -> None:
        """Copy the configuration of the first broker's servlet, but keep no reference to the
        servlet.
        """
        config = field(servlet, "config")
        kind = config.getType()
        self._context = _Forwarder()
        self._config = _Forwarder()
        self._set_targets(servlet)
        context = self._context.of(kind.getMethod("getServletContext").getReturnType())
        self._config.instead["getServletContext"] = context
        described = field(servlet, "resourceConfig").get(servlet)
        own = java_class(SERVLET)(described)
        config.set(own, self._config.of(kind))
        package = SERVLET.rpartition(".")[0]
        web = java_class(f"{package}.WebServletConfig")(own)
        self._component = java_class(f"{package}.WebComponent")(web, described)
        field(self._component, "appHandler").get(self._component).onStartup(own)

    def serve(self, servlet: Java) -> None:
        """Answer requests for the broker of this servlet from now on."""
        self._set_targets(servlet)
        field(servlet, "webComponent").set(servlet, self._component)

    def _set_targets(self, servlet: Java) -> None:
        self._context.target = servlet.getServletContext()
        self._config.target = servlet.getServletConfig()


@jpype.JImplements("java.lang.reflect.InvocationHandler", deferred=True)
class _Forwarder:
    """A proxy that forwards calls to a replaceable target."""

    def __init__(self) -> None:
        self.target: Java = None
        self.instead: dict[str, Java] = {}

    def of(self, kind: Java) -> Java:
        """Return a proxy that implements this interface."""
        kinds = jpype.JArray(java_class("java.lang.Class"))([kind])
        return java_class("java.lang.reflect.Proxy").newProxyInstance(
            kind.getClassLoader(), kinds, self
        )

    @jpype.JOverride
    def invoke(self, proxy: Java, method: Java, arguments: Java) -> Java:  # noqa: ARG002  Java's signature
        """Forward a call to the target. Errors: whatever the target raises."""
        name = str(method.getName())
        if name in self.instead:
            return self.instead[name]
        try:
            return method.invoke(self.target, arguments)
        except java_class("java.lang.reflect.InvocationTargetException") as error:
            raise error.getCause() from None


@jpype.JImplements("java.util.function.Consumer", deferred=True)
class _Callback:
    """Listener that calls a function when a servlet starts or stops."""

    def __init__(self, call: Callable[[Java], None]) -> None:
        self._call = call

    @jpype.JOverride
    def accept(self, servlet: Java) -> None:
        """Call the function with a servlet; the servlet calls this when it starts or stops."""
        self._call(servlet)
